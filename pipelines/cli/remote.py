"""A running server as a `Face`: every method is one REST call."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, replace

from pipelines.cli.wire import Wire, path
from pipelines.domain.about import About
from pipelines.domain.decisions import DropPlan, PromotePlan, UndropPlan
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.differences import Differences
from pipelines.domain.disposals import Disposal
from pipelines.domain.events import EVERY, EventFilter
from pipelines.domain.experiments import BatchRow, Comparison, Experiment, Health, Series, Tree
from pipelines.domain.intervals import Interval
from pipelines.domain.jobs import Event, JobDetail, JobSummary, LogChunk, Run
from pipelines.domain.operations import Operation
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import QueryPlan
from pipelines.domain.requests import (
    AnnotateRequest,
    AttachRequest,
    CompareRequest,
    DisposeRequest,
    DropRequest,
    ExperimentRequest,
    ExportRequest,
    ForkRequest,
    ImportRequest,
    PromoteRequest,
    ResumeRequest,
    RunRequest,
    StopRequest,
    TakeRequest,
    UndropRequest,
)
from pipelines.domain.savepoints import DisposePlan, ExportPlan, Manifest, RestorePlan, RetainedBatch, Savepoint, TakePlan
from pipelines.domain.space import Space
from pipelines.domain.states import StateQuery, StateRequest, StateRows, StateTable
from pipelines.domain.trust import Trust, Verification
from pipelines.domain.versions import Version


class RemoteFace(Wire):
    """`Face` over the REST API of the server at a URL. Raises what the server raised, and Unavailable where no server answers."""

    def acting(self, actor: str) -> RemoteFace:
        same = copy(self)
        same.actor = actor
        return same

    # jobs
    def jobs(self) -> Sequence[JobSummary]:
        return self.get(tuple[JobSummary, ...], "/jobs")

    def health(self, *, span_ms: int = 900_000) -> Health:
        return self.get(Health, "/health", span_ms=span_ms)

    def job(self, job: str) -> JobDetail:
        return self.get(JobDetail, path("jobs", job))

    def run(self, request: RunRequest) -> Run:
        return self.post(Run, "/jobs", request)

    def stop(self, job: str, request: StopRequest) -> Operation:
        return self.post(Operation, path("jobs", job, "stop"), request)

    def resume(self, job: str, request: ResumeRequest) -> Run | RestorePlan:
        at = path("jobs", job, "resume")
        return self.post(RestorePlan, at, request) if request.dry_run else self.post(Run, at, request)

    def attach(self, request: AttachRequest) -> Run:
        return self.post(Run, "/jobs/attach", request)

    def forget(self, job: str) -> None:
        self.call("DELETE", path("jobs", job))

    def logs(self, job: str, *, run: str = "", offset: int = -20_000, limit: int = 200_000) -> LogChunk:
        return self.get(LogChunk, path("jobs", job, "logs"), run=run, offset=offset, limit=limit)

    def retained(self, job: str) -> Sequence[RetainedBatch]:
        return self.get(tuple[RetainedBatch, ...], path("jobs", job, "retained"))

    def batches(self, job: str, *, limit: int = 100) -> Sequence[BatchRow]:
        return self.get(tuple[BatchRow, ...], path("jobs", job, "batches"), limit=limit)

    def series(self, job: str, *, from_ms: int, to_ms: int, points: int = 600) -> Series:
        return self.get(Series, path("jobs", job, "series"), from_ms=from_ms, to_ms=to_ms, points=points)

    def event_series(self, job: str, *, points: int = 600) -> Series:
        return self.get(Series, path("jobs", job, "event-series"), points=points)

    def operators(self, job: str) -> Sequence[QueryOperators]:
        return self.get(tuple[QueryOperators, ...], path("jobs", job, "operators"))

    def plan(self, job: str, *, query: str = "") -> Sequence[QueryPlan]:
        return self.get(tuple[QueryPlan, ...], path("jobs", job, "plan"), query=query)

    def events(self, job: str = "", *, limit: int = 200, wanted: EventFilter = EVERY) -> Sequence[Event]:
        said = {name: value for name, value in asdict(replace(wanted, job=job or wanted.job)).items() if value not in ("", None)}
        return self.get(tuple[Event, ...], "/events", limit=limit, **said)

    def operation(self, operation: str) -> Operation:
        return self.get(Operation, path("operations", operation))

    def operations(self, *, running: bool = False) -> Sequence[Operation]:
        return self.get(tuple[Operation, ...], "/operations", running=running)

    def cancel(self, operation: str) -> Operation:
        return self.post(Operation, path("operations", operation, "cancel"), None)

    # versions
    def version(self, version: str) -> Version:
        return self.get(Version, path("versions", version))

    def tree(self) -> Tree:
        return self.get(Tree, "/tree")

    def differences(self, a: str, b: str) -> Differences:
        return self.get(Differences, "/differences", a=a, b=b)

    # savepoints
    def take(self, job: str, request: TakeRequest) -> Savepoint | TakePlan:
        at = path("jobs", job, "savepoints")
        return self.post(TakePlan, at, request) if request.dry_run else self.post(Savepoint, at, request)

    def savepoints(self, job: str = "") -> Sequence[Savepoint]:
        return self.get(tuple[Savepoint, ...], "/savepoints", job=job)

    def savepoint(self, savepoint: str) -> Savepoint:
        return self.get(Savepoint, path("savepoints", savepoint))

    def manifest(self, savepoint: str) -> Manifest:
        return self.get(Manifest, path("savepoints", savepoint, "manifest"))

    def annotate(self, savepoint: str, request: AnnotateRequest) -> Savepoint:
        return self.patch(Savepoint, path("savepoints", savepoint), request)

    def verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Verification:
        return self.post(Verification, path("savepoints", savepoint, "verify"), None, level=level.value)

    def start_verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Operation:
        return self.post(Operation, path("savepoints", savepoint, "verifications"), None, level=level.value)

    def verification(self, savepoint: str) -> Verification | None:
        return self.find(Verification, path("savepoints", savepoint, "verification"))

    def diagnose(self, subject: str) -> Sequence[Diagnosis]:
        return self.get(tuple[Diagnosis, ...], "/diagnosis", subject=subject)

    def states(self, savepoint: str) -> Sequence[StateTable]:
        return self.get(tuple[StateTable, ...], path("savepoints", savepoint, "states"))

    def read_state(self, savepoint: str, request: StateRequest) -> Operation:
        return self.post(Operation, path("savepoints", savepoint, "states"), request)

    def query_state(self, savepoint: str, query: StateQuery) -> StateRows:
        return self.post(StateRows, path("savepoints", savepoint, "states", "query"), query)

    def space(self, job: str = "") -> Space:
        return self.get(Space, "/space", job=job)

    def export(self, savepoint: str, request: ExportRequest) -> Operation | ExportPlan:
        at = path("savepoints", savepoint, "export")
        return self.post(ExportPlan, at, request) if request.dry_run else self.post(Operation, at, request)

    def import_savepoint(self, request: ImportRequest) -> Operation:
        return self.post(Operation, "/savepoints/import", request)

    def dispose(self, savepoint: str, *, dry_run: bool = False) -> DisposePlan:
        return self.delete(DisposePlan, path("savepoints", savepoint), dry_run=dry_run)

    def dispose_many(self, savepoints: Sequence[str], *, dry_run: bool = False) -> Disposal:
        return self.post(Disposal, "/savepoints/dispose", DisposeRequest(tuple(savepoints), dry_run))

    def fork(self, savepoint: str, request: ForkRequest) -> Run | RestorePlan:
        at = path("savepoints", savepoint, "fork")
        return self.post(RestorePlan, at, request) if request.dry_run else self.post(Run, at, request)

    # experiments
    def experiments(self) -> Sequence[Experiment]:
        return self.get(tuple[Experiment, ...], "/experiments")

    def experiment(self, experiment: str) -> Experiment:
        return self.get(Experiment, path("experiments", experiment))

    def start_experiment(self, request: ExperimentRequest) -> Experiment:
        return self.post(Experiment, "/experiments", request)

    def compare(self, request: CompareRequest) -> Comparison:
        return self.post(Comparison, "/compare", request)

    def intervals(self, a: str, b: str, query: str = "") -> Sequence[Interval]:
        return self.get(tuple[Interval, ...], "/intervals", a=a, b=b, query=query)

    def promote(self, job: str, request: PromoteRequest) -> Operation | PromotePlan:
        at = path("jobs", job, "promote")
        return self.post(PromotePlan, at, request) if request.dry_run else self.post(Operation, at, request)

    def drop(self, job: str, request: DropRequest) -> Operation | DropPlan:
        at = path("jobs", job, "drop")
        return self.post(DropPlan, at, request) if request.dry_run else self.post(Operation, at, request)

    def undrop(self, job: str, request: UndropRequest) -> UndropPlan:
        return self.post(UndropPlan, path("jobs", job, "undrop"), request)

    # the workspace itself
    def start_example(self) -> Sequence[Run]:
        return self.post(tuple[Run, ...], "/example", None)

    def about(self) -> About:
        return self.get(About, "/about")

    def rebuild_catalog(self) -> dict[str, int]:
        return self.post(dict[str, int], "/catalog/rebuild", None)
