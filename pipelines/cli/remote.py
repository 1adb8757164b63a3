"""A running server as a `Face`: every method is one REST call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from pipelines.domain.errors import Corrupt, TidemarkError, Unavailable, from_json
from pipelines.domain.experiments import BatchRow, Comparison, Experiment, Health, Series, Tree
from pipelines.domain.jobs import Event, JobDetail, JobSummary, LogChunk, Operation, Run
from pipelines.domain.requests import (
    CompareRequest,
    ExperimentRequest,
    ForkRequest,
    ResumeRequest,
    RunRequest,
    StopRequest,
    TakeRequest,
)
from pipelines.domain.savepoints import (
    DisposePlan,
    Manifest,
    RestorePlan,
    RetainedBatch,
    Savepoint,
    TakePlan,
    Trust,
    Verification,
)
from pipelines.domain.versions import Version
from pipelines.storage.documents import decode, encode

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 3600.0
"""A verify reads whole savepoints before it answers."""


class RemoteFace:
    """`Face` over the REST API below `url`. Raises what the server raised, and Unavailable where no server answers."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        import httpx

        self.url = url
        patience = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self._http = httpx.Client(base_url=f"{url}/api/v1", transport=transport, timeout=patience, trust_env=False)

    def close(self) -> None:
        """Lets the connection go."""
        self._http.close()

    # jobs
    def jobs(self) -> Sequence[JobSummary]:
        return self._get(tuple[JobSummary, ...], "/jobs")

    def health(self, *, span_ms: int = 900_000) -> Health:
        return self._get(Health, "/health", span_ms=span_ms)

    def job(self, job: str) -> JobDetail:
        return self._get(JobDetail, _path("jobs", job))

    def run(self, request: RunRequest) -> Run:
        return self._post(Run, "/jobs", request)

    def stop(self, job: str, request: StopRequest) -> Operation:
        return self._post(Operation, _path("jobs", job, "stop"), request)

    def resume(self, job: str, request: ResumeRequest) -> Run | RestorePlan:
        path = _path("jobs", job, "resume")
        return self._post(RestorePlan, path, request) if request.dry_run else self._post(Run, path, request)

    def forget(self, job: str) -> None:
        self._call("DELETE", _path("jobs", job))

    def logs(self, job: str, *, run: str = "", offset: int = -20_000, limit: int = 200_000) -> LogChunk:
        return self._get(LogChunk, _path("jobs", job, "logs"), run=run, offset=offset, limit=limit)

    def retained(self, job: str) -> Sequence[RetainedBatch]:
        return self._get(tuple[RetainedBatch, ...], _path("jobs", job, "retained"))

    def batches(self, job: str, *, limit: int = 100) -> Sequence[BatchRow]:
        return self._get(tuple[BatchRow, ...], _path("jobs", job, "batches"), limit=limit)

    def series(self, job: str, *, from_ms: int, to_ms: int, points: int = 600) -> Series:
        return self._get(Series, _path("jobs", job, "series"), from_ms=from_ms, to_ms=to_ms, points=points)

    def event_series(self, job: str, *, points: int = 600) -> Series:
        return self._get(Series, _path("jobs", job, "event-series"), points=points)

    def events(self, job: str = "", *, limit: int = 200) -> Sequence[Event]:
        return self._get(tuple[Event, ...], "/events", job=job, limit=limit)

    def operation(self, operation: str) -> Operation:
        return self._get(Operation, _path("operations", operation))

    # versions
    def version(self, version: str) -> Version:
        return self._get(Version, _path("versions", version))

    def tree(self) -> Tree:
        return self._get(Tree, "/tree")

    # savepoints
    def take(self, job: str, request: TakeRequest) -> Savepoint | TakePlan:
        path = _path("jobs", job, "savepoints")
        return self._post(TakePlan, path, request) if request.dry_run else self._post(Savepoint, path, request)

    def savepoints(self, job: str = "") -> Sequence[Savepoint]:
        return self._get(tuple[Savepoint, ...], "/savepoints", job=job)

    def savepoint(self, savepoint: str) -> Savepoint:
        return self._get(Savepoint, _path("savepoints", savepoint))

    def manifest(self, savepoint: str) -> Manifest:
        return self._get(Manifest, _path("savepoints", savepoint, "manifest"))

    def verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Verification:
        return self._post(Verification, _path("savepoints", savepoint, "verify"), None, level=level.value)

    def dispose(self, savepoint: str, *, dry_run: bool = False) -> DisposePlan:
        answer = self._call("DELETE", _path("savepoints", savepoint), query={"dry_run": dry_run})
        return _read(DisposePlan, answer, self.url)

    def fork(self, savepoint: str, request: ForkRequest) -> Run | RestorePlan:
        path = _path("savepoints", savepoint, "fork")
        return self._post(RestorePlan, path, request) if request.dry_run else self._post(Run, path, request)

    # experiments
    def experiments(self) -> Sequence[Experiment]:
        return self._get(tuple[Experiment, ...], "/experiments")

    def experiment(self, experiment: str) -> Experiment:
        return self._get(Experiment, _path("experiments", experiment))

    def start_experiment(self, request: ExperimentRequest) -> Experiment:
        return self._post(Experiment, "/experiments", request)

    def compare(self, request: CompareRequest) -> Comparison:
        return self._post(Comparison, "/compare", request)

    # the workspace itself
    def start_example(self) -> Sequence[Run]:
        return self._post(tuple[Run, ...], "/example", None)

    def rebuild_catalog(self) -> dict[str, int]:
        return self._post(dict[str, int], "/catalog/rebuild", None)

    # the wire
    def _get(self, kind: type[T], path: str, **query: Any) -> T:
        return _read(kind, self._call("GET", path, query=query), self.url)

    def _post(self, kind: type[T], path: str, request: object, **query: Any) -> T:
        body = b"" if request is None else encode(request)
        return _read(kind, self._call("POST", path, query=query, body=body), self.url)

    def _call(self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: bytes | None = None) -> bytes:
        """The answer's body; raises the error that it says, or Unavailable."""
        import httpx

        headers = {"content-type": "application/json"} if body is not None else {}
        try:
            answer = self._http.request(method, path, params=query, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise Unavailable(
                "server.unreachable",
                f"the server at {self.url} does not answer: {error}",
                "See whether it still runs; when it is stopped, commands open the workspace themselves.",
            ) from error
        if answer.is_success:
            return answer.content
        raise _said(answer.status_code, answer.content, self.url)


def _path(*parts: str) -> str:
    """A path of quoted parts: a savepoint's name may be a path itself."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _read(kind: type[T], answer: bytes, url: str) -> T:
    try:
        return decode(kind, answer, "the answer")
    except Corrupt as error:
        raise _strange(url, error.message) from error


def _said(status: int, answer: bytes, url: str) -> TidemarkError:
    """The error that an answer describes."""
    try:
        return from_json(cast(dict[str, Any], decode(dict, answer, "the answer")))
    except (Corrupt, KeyError, TypeError):
        return _strange(url, f"status {status}")


def _strange(url: str, what: str) -> Unavailable:
    return Unavailable(
        "server.answer", f"the server at {url} answers strangely: {what}", "Restart it: it may be of another version than this command."
    )
