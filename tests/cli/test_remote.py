"""`RemoteFace` is the face: same methods, same answers, same errors, over real HTTP."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from pipelines.api.app import create_api
from pipelines.cli.remote import RemoteFace
from pipelines.domain.decisions import StateFrom
from pipelines.domain.errors import GROUPS, STATUS_AND_EXIT_CODES, TidemarkError, Unavailable
from pipelines.domain.events import EventFilter
from pipelines.domain.operations import OperationState
from pipelines.domain.requests import (
    AnnotateRequest,
    AttachRequest,
    CompareRequest,
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
from pipelines.domain.states import StateQuery, StateRequest, StateRows
from pipelines.domain.trust import Trust
from pipelines.workspace.face import Face
from tests.api.serving import serving
from tests.faces import ROOT, FakeFace

FIRST = "sp-000000000002"
ARCHIVE = "s3://lake/archive/clicks.tar.zst"
PROVED = "sp-000000000007"
JOB = "post_engagement"
RUN = RunRequest("new", "new.py", "print('é')\n", ("--x", "{output}"), {"a": "b"}, "local[1]", "/py", "/src/new.py", FIRST)
FULL_FORK = ForkRequest("c", "print()\n", "c.py", ("1",), {"k": "v"}, "local[1]", {"*": "fresh"}, ("more",))
ATTACH = AttachRequest("far", {"a": "s3://lake/a"}, "parquet", "s3://o", "far.py", "print()", ("1",), {"k": "v"}, "yarn", "4.1.0")


def asked(face: Face, query: StateQuery) -> StateRows:
    """The answer of a face that has read the state."""
    begun = face.read_state(FIRST, StateRequest())
    while face.operation(begun.id).state is OperationState.RUNNING:
        pass
    return face.query_state(FIRST, query)


def dropped(face: Face) -> Face:
    """A face that has dropped the variant."""
    face.drop("post_engagement_split", DropRequest())
    return face


CALLS: dict[str, list[Callable[[Face], Any]]] = {
    "jobs": [lambda f: f.jobs()],
    "health": [lambda f: f.health()],
    "job": [lambda f: f.job(JOB), lambda f: f.job("post_engagement_split")],
    "run": [lambda f: f.run(RUN)],
    "stop": [lambda f: f.stop(JOB, StopRequest(label="x")), lambda f: f.stop(JOB, StopRequest(False, True))],
    "resume": [
        lambda f: f.resume("post_events", ResumeRequest()),
        lambda f: f.resume("post_events", ResumeRequest(FIRST, None, "print(2)", ("1",), {"k": "v"}, "local[1]", ("more",))),
        lambda f: f.resume("post_events", ResumeRequest(batch=8)),
        lambda f: f.resume("post_events", ResumeRequest(FIRST, dry_run=True)),
    ],
    "attach": [lambda f: f.attach(ATTACH), lambda f: f.attach(AttachRequest("far", {"a": "/a", "b": "/b"}))],
    "forget": [lambda f: f.forget("post_events")],
    "logs": [lambda f: f.logs(JOB), lambda f: f.logs(JOB, run="r-9", offset=3, limit=5)],
    "retained": [lambda f: f.retained(JOB)],
    "operators": [lambda f: f.operators(JOB), lambda f: f.operators("post_events")],
    "plan": [lambda f: f.plan(JOB), lambda f: f.plan(JOB, query="counts"), lambda f: f.plan("post_events")],
    "batches": [lambda f: f.batches(JOB), lambda f: f.batches(JOB, limit=1)],
    "series": [lambda f: f.series(JOB, from_ms=5, to_ms=9), lambda f: f.series(JOB, from_ms=5, to_ms=9, points=1)],
    "event_series": [lambda f: f.event_series(JOB, points=1)],
    "events": [
        lambda f: f.events(),
        lambda f: f.events(JOB, limit=1),
        lambda f: f.events(wanted=EventFilter("", "runs", "split", "command", 1, 10**13)),
        lambda f: f.events(wanted=EventFilter(before=f.events(limit=1)[0].cursor)),
    ],
    "operation": [lambda f: f.operation(f.stop(JOB, StopRequest()).id)],
    "operations": [lambda f: f.operations(), lambda f: f.operations(running=True)],
    "cancel": [lambda f: f.cancel("op-exporting")],
    "version": [lambda f: f.version(f.job(JOB).runs[0].version)],
    "differences": [lambda face: face.differences("sp-000000000002", "post_engagement")],
    "tree": [lambda f: f.tree()],
    "take": [
        lambda f: f.take(JOB, TakeRequest(7, label="ü")),
        lambda f: f.take(JOB, TakeRequest(event_ms=4, to="s3://lake/one")),
        lambda f: f.take(JOB, TakeRequest(at_ms=4, dry_run=True)),
    ],
    "savepoints": [lambda f: f.savepoints(), lambda f: f.savepoints("post_events")],
    "savepoint": [lambda f: f.savepoint(FIRST), lambda f: f.savepoint(f"{ROOT}/{FIRST}")],
    "manifest": [lambda f: f.manifest(FIRST), lambda f: f.manifest(f"{ROOT}/{FIRST}")],
    "annotate": [
        lambda f: f.annotate(FIRST, AnnotateRequest("ü", "a\nb", 5)),
        lambda f: f.annotate(f"{ROOT}/{FIRST}", AnnotateRequest(best_before_ms=0)),
    ],
    "verify": [lambda f: f.verify(FIRST), lambda f: f.verify(FIRST, Trust.PROVED)],
    "start_verify": [lambda f: f.start_verify(FIRST), lambda f: f.start_verify(FIRST, Trust.PROVED)],
    "verification": [lambda f: f.verification(PROVED), lambda f: f.verification(FIRST)],
    "diagnose": [lambda f: f.diagnose(JOB), lambda f: f.diagnose(f"{ROOT}/{FIRST}"), lambda f: f.diagnose("/data/ü/checkpoint")],
    "states": [lambda f: f.states(FIRST), lambda f: f.states(f"{ROOT}/{FIRST}")],
    "read_state": [
        lambda f: f.read_state(FIRST, StateRequest()),
        lambda f: f.read_state(FIRST, StateRequest("counts", 0, "default", "", 9)),
    ],
    "query_state": [
        lambda f: asked(f, StateQuery(sort="key.post", descending=True, filter="p1", offset=1, limit=3)),
        lambda f: asked(f, StateQuery("counts", 0, "default", sql='SELECT key.window.start AS "ü", count(*) FROM state GROUP BY 1')),
    ],
    "space": [lambda f: f.space(), lambda f: f.space("clicks")],
    "export": [
        lambda f: f.export(FIRST, ExportRequest("s3://lake/one", True, True)),
        lambda f: f.export(FIRST, ExportRequest("s3://lake/one.tar.zst", dry_run=True)),
    ],
    "import_savepoint": [lambda f: f.import_savepoint(ImportRequest(ARCHIVE))],
    "dispose": [lambda f: f.dispose(FIRST, dry_run=True), lambda f: f.dispose(f"{ROOT}/{FIRST}")],
    "dispose_many": [
        lambda f: f.dispose_many([FIRST, "sp-none"], dry_run=True),
        lambda f: f.dispose_many([f"{ROOT}/{FIRST}", PROVED]),
    ],
    "fork": [lambda f: f.fork(FIRST, FULL_FORK), lambda f: f.fork(FIRST, ForkRequest("c", dry_run=True))],
    "experiments": [lambda f: f.experiments()],
    "experiment": [lambda f: f.experiment("ex-1")],
    "start_experiment": [lambda f: f.start_experiment(ExperimentRequest("e", FIRST, (FULL_FORK, ForkRequest("d")), True))],
    "compare": [lambda f: f.compare(CompareRequest(JOB, "post_events", "q", ("k",), 3))],
    "intervals": [lambda f: f.intervals(JOB, "post_events"), lambda f: f.intervals(JOB, "post_events", "counts")],
    "promote": [
        lambda f: f.promote("post_engagement_split", PromoteRequest()),
        lambda f: f.promote("post_engagement_split", PromoteRequest(StateFrom.SAVEPOINT, dry_run=True)),
    ],
    "drop": [
        lambda f: f.drop("post_engagement_split", DropRequest(False, True)),
        lambda f: f.drop("post_engagement_split", DropRequest(dry_run=True)),
    ],
    "undrop": [
        lambda f: dropped(f).undrop("post_engagement_split", UndropRequest()),
        lambda f: dropped(f).undrop("post_engagement_split", UndropRequest(dry_run=True)),
    ],
    "start_example": [lambda f: f.start_example()],
    "about": [lambda f: f.about()],
    "rebuild_catalog": [lambda f: f.rebuild_catalog()],
}
METHODS = sorted(name for name in vars(Face) if not name.startswith("_") and name != "acting")


class Recording(httpx.HTTPTransport):
    """A transport that keeps (method, path below /api) of what went over it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[tuple[str, str]] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.add((request.method.lower(), request.url.path.removeprefix("/api")))
        return super().handle_request(request)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[FakeFace, str]]:
    face = FakeFace()
    with serving(face) as url:
        yield face, url


@pytest.fixture
def face(served: tuple[FakeFace, str]) -> FakeFace:
    served[0].begin_again(busy=True)
    return served[0]


@pytest.fixture
def recording() -> Recording:
    return Recording()


@pytest.fixture
def remote(served: tuple[FakeFace, str], recording: Recording) -> Iterator[RemoteFace]:
    remote = RemoteFace(served[1], recording)
    yield remote
    remote.close()


def test_there_is_a_call_here_for_every_method() -> None:
    assert sorted(CALLS) == METHODS


@pytest.mark.parametrize("name", METHODS)
def test_it_has_the_method_with_the_same_signature(name: str) -> None:
    assert inspect.signature(getattr(RemoteFace, name)) == inspect.signature(getattr(Face, name))


@pytest.mark.parametrize("name", METHODS)
def test_answers_and_requests_survive_the_wire(name: str, face: FakeFace, remote: RemoteFace) -> None:
    for call in CALLS[name]:
        near = FakeFace.busy()
        face.begin_again(busy=True)
        expected, answered = call(near), call(remote)
        assert answered == expected
        assert type(answered) is type(expected)
        assert face.calls == near.calls


def test_every_route_is_reached(face: FakeFace, remote: RemoteFace, recording: Recording) -> None:
    for call in (call for calls in CALLS.values() for call in calls):
        face.begin_again(busy=True)
        call(remote)
    described = create_api(face).openapi()["paths"]
    reached = {
        one["operationId"]
        for path, methods in described.items()
        for method, one in methods.items()
        if any(asked == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), where) for asked, where in recording.asked)
    }
    every = {one["operationId"] for methods in described.values() for one in methods.values()}
    assert every - reached == {"ping", "job_events"}


@pytest.mark.parametrize("group", STATUS_AND_EXIT_CODES)
def test_errors_come_back_as_themselves(face: FakeFace, remote: RemoteFace, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = GROUPS.get(group, TidemarkError)

    def refuse() -> None:
        raise kind("some.code", "a message", "a hint")

    monkeypatch.setattr(face, "tree", refuse)
    with pytest.raises(kind) as raised:
        remote.tree()
    assert type(raised.value) is kind
    assert (raised.value.code, raised.value.message, raised.value.hint) == ("some.code", "a message", "a hint")


STRANGE = [(200, b"{}"), (200, b"<html>"), (500, b"<html>"), (404, b"{}"), (503, b'{"error": 1}')]


@pytest.mark.parametrize(("status", "body"), STRANGE)
def test_a_strange_answer_is_said_to_be_one(status: int, body: bytes) -> None:
    remote = RemoteFace("http://x", httpx.MockTransport(lambda request: httpx.Response(status, content=body)))
    with pytest.raises(Unavailable) as raised:
        remote.job("a")
    assert raised.value.code == "server.answer"


def test_no_answer_is_unavailable() -> None:
    with serving(FakeFace()) as url:
        pass
    remote = RemoteFace(url)
    with pytest.raises(Unavailable) as raised:
        remote.jobs()
    assert raised.value.code == "server.unreachable"
