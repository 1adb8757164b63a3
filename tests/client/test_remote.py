"""`RemoteFace` is the face: the same answers and plans to the same values, the same errors, over real HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipelines import verbs
from pipelines.api import feed
from pipelines.api.app import create_api
from pipelines.client import remote as client_remote
from pipelines.client import wire
from pipelines.client.remote import RemoteFace
from pipelines.domain.errors import GROUPS, STATUS_AND_EXIT_CODES, Conflict, NotFound, TidemarkError, Unavailable
from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.runs import RunState
from pipelines.domain.sources import Waiting
from pipelines.domain.trust import Trust
from pipelines.domain.updates import UpdateKind
from pipelines.storage.documents import plain
from pipelines.storage.layout import Layout
from pipelines.verbs.experiments import ShowTree, ShowVersion
from pipelines.verbs.export import Export
from pipelines.verbs.face import Face, do
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListJobs, ReadLog, ShowJob
from pipelines.verbs.operations import CancelOperation, ReadAnswer
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Asked, Begun, Change
from pipelines.verbs.verify import Verify
from tests import samples
from tests.api.serving import serving
from tests.faces import FakeFace
from tests.verbs.requests import EVERY, FIRST, JOB
from tests.waiting import until


def after_another(face: Face) -> Asked[Any]:
    """Older events than the newest."""
    return ListEvents(before=face.ask(ListEvents(limit=1))[0].cursor)


def of_a_run(face: Face) -> Asked[Any]:
    return ShowVersion(face.ask(ShowJob(JOB)).runs[0].version)


def of_an_operation_that_ended(face: Face) -> Asked[Any]:
    begun = face.begin(Verify(FIRST))
    face.answer(begun)
    assert begun.operation is not None
    return ReadAnswer(begun.operation.id)


Prepared = Callable[[Face], Asked[Any]]
PREPARED: dict[str, Prepared] = {
    **{name: lambda face, value=value: value for name, value in EVERY.items()},  # type: ignore[misc]
    "events after another": after_another,
    "version": of_a_run,
    "answer": of_an_operation_that_ended,
}
CHANGES = {name: prepared for name, prepared in PREPARED.items() if isinstance(prepared(FakeFace.busy()), Change)}


def answer(face: Face, asked: Asked[Any]) -> Any:
    return do(face, asked) if isinstance(asked, Change) else face.ask(asked)  # type: ignore[arg-type]


class Recording(httpx.HTTPTransport):
    """A transport that keeps (method, path below /api) of what went over it."""

    def __init__(self) -> None:
        super().__init__(verify=False)
        self.calls: set[tuple[str, str]] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.calls.add((request.method.lower(), request.url.path.removeprefix("/api")))
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
    remote = RemoteFace(served[1], transport=recording)
    yield remote
    remote.close()


def test_there_is_a_value_here_of_every_declaration() -> None:
    assert {type(prepared(FakeFace.busy())) for prepared in PREPARED.values()} == set(verbs.every())


@pytest.mark.parametrize("name", PREPARED)
def test_values_and_answers_survive_the_wire(name: str, face: FakeFace, remote: RemoteFace) -> None:
    near = FakeFace.busy()
    asked_near, asked_far = PREPARED[name](near), PREPARED[name](remote)
    assert asked_far == asked_near
    expected, answered = answer(near, asked_near), answer(remote, asked_far)
    if isinstance(asked_near, ReadAnswer):
        expected = plain(expected)
    assert answered == expected
    assert type(answered) is type(expected)
    assert face.begun == near.begun


def test_a_job_that_catches_up_survives_the_wire(face: FakeFace, remote: RemoteFace) -> None:
    job = samples.judged(replace(face.ask(ListJobs())[0], lag_ms=7_800_000.0, backlog=(Waiting("rows", 1_200_000, -4_000.0),)))
    assert job.catching_up is not None
    face.answers(ListJobs(), [job])
    assert remote.ask(ListJobs()) == (job,)


@pytest.mark.parametrize("name", CHANGES)
def test_plans_survive_the_wire_and_change_nothing(name: str, face: FakeFace, remote: RemoteFace) -> None:
    near = FakeFace.busy()
    change_near: Any = CHANGES[name](near)
    change_far: Any = CHANGES[name](remote)
    begun = list(face.begun)
    expected, planned = near.plan(change_near), remote.plan(change_far)
    assert planned == expected
    assert type(planned) is type(expected)
    assert face.begun == begun


def test_every_route_is_reached(face: FakeFace, remote: RemoteFace, recording: Recording) -> None:
    for prepared in PREPARED.values():
        face.begin_again(busy=True)
        answer(remote, prepared(remote))
    described = create_api(face).openapi()["paths"]
    reached = {
        route["operationId"]
        for path, methods in described.items()
        for method, route in methods.items()
        if any(called == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), where) for called, where in recording.calls)
    }
    every = {route["operationId"] for methods in described.values() for route in methods.values()}
    of_job = {"job_events", "job_schedule", "set_job_schedule", "job_alerts", "set_job_alert", "log_file"}
    assert every - reached == {"ping", "verify", "dispose", "stream", "job_stream", *of_job}


def test_what_takes_its_time_is_followed_by_its_operation(face: FakeFace, remote: RemoteFace) -> None:
    begun = remote.begin(Verify(FIRST))
    assert not begun.is_answered and isinstance(begun.operation, Operation)
    assert begun.operation.state is OperationState.RUNNING
    assert remote.answer(begun) == samples.verification(face.ask(ShowSavepoint(FIRST)), Trust.INTACT)


def test_what_may_be_answered_at_once_is_followed_too_where_it_is_not(face: FakeFace, remote: RemoteFace) -> None:
    taken, course = face.ask(ShowSavepoint(FIRST)), samples.course(samples.begun("op-1", "take", JOB, ""), FIRST)
    face.answers(Take, lambda change: Begun(change, face.under_way(*course, outcome=taken)))
    begun = remote.begin(Take(JOB))
    assert begun.operation is not None and begun.operation.state is OperationState.RUNNING
    assert remote.answer(begun) == taken


@pytest.mark.parametrize("is_answered", [True, False])
def test_what_a_change_warns_of_comes_with_its_beginning(face: FakeFace, remote: RemoteFace, is_answered: bool) -> None:
    run, warned = face.runs[JOB][-1], ("the state of zähler stays in 2 partitions", "a second one")
    course = samples.course(samples.begun("op-1", "resume", JOB, ""), run.id)

    def begun(change: Resume) -> Begun[Run]:
        if is_answered:
            return Begun(change, answer=run, warnings=warned)
        return Begun(change, face.under_way(*course, outcome=run), warnings=warned)

    face.answers(Resume, begun)
    began = remote.begin(Resume(JOB, conf={"spark.sql.shuffle.partitions": "9"}))
    assert began.warnings == warned and remote.answer(began) == run


def test_what_was_cancelled_meanwhile_has_no_answer(remote: RemoteFace) -> None:
    begun = remote.begin(Export(FIRST, "s3://lake/one"))
    assert begun.operation is not None
    cancelled = remote.begin(CancelOperation(begun.operation.id))
    assert cancelled.is_answered
    with pytest.raises(Conflict) as raised:
        remote.answer(begun)
    assert raised.value.code == "operation.cancelled"


def test_who_acts_is_said(face: FakeFace, remote: RemoteFace) -> None:
    remote.acting("notebook").ask(ListJobs())
    assert face.actor == "notebook"


@pytest.mark.parametrize("group", STATUS_AND_EXIT_CODES)
def test_errors_come_back_as_themselves(face: FakeFace, remote: RemoteFace, group: str) -> None:
    kind = GROUPS.get(group, TidemarkError)
    face.refuses(ShowTree, kind("some.code", "a message", "a hint"))
    with pytest.raises(kind) as raised:
        remote.ask(ShowTree())
    assert type(raised.value) is kind
    assert (raised.value.code, raised.value.message, raised.value.hint) == ("some.code", "a message", "a hint")


@pytest.mark.parametrize("name", ["a/b", ".", ".."])
def test_what_no_path_can_say_is_named_by_nothing(remote: RemoteFace, name: str) -> None:
    for asked in (ShowJob(name), ReadLog(name)):
        with pytest.raises(NotFound) as raised:
            remote.ask(asked)
        assert raised.value.message == f"There is no job {name!r}"


STRANGE = [(200, b"{}"), (200, b"<html>"), (500, b"<html>"), (404, b"{}"), (503, b'{"error": 1}')]


@pytest.mark.parametrize(("status", "body"), STRANGE)
def test_a_strange_answer_is_said_to_be_one(status: int, body: bytes) -> None:
    remote = RemoteFace("http://x", transport=httpx.MockTransport(lambda request: httpx.Response(status, content=body)))
    with pytest.raises(Unavailable) as raised:
        remote.ask(ShowJob("a"))
    assert raised.value.code == "server.answer"


def test_no_answer_is_unavailable() -> None:
    with serving(FakeFace()) as url:
        pass
    remote = RemoteFace(url)
    with pytest.raises(Unavailable) as raised:
        remote.ask(ListJobs())
    assert raised.value.code == "server.unreachable"


class Losing(httpx.HTTPTransport):
    """A transport that loses the answers of the first calls, after the server has given them."""

    def __init__(self, losses: int, error: type[httpx.TransportError] = httpx.ReadError) -> None:
        super().__init__(verify=False)
        self.losses, self.error = losses, error
        self.keys: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("idempotency-key", ""))
        answer = super().handle_request(request)
        if len(self.keys) <= self.losses:
            answer.read()
            raise self.error("the line is cut")
        return answer


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "PAUSES_S", (0.0,) * 4)
    monkeypatch.setattr(client_remote, "PAUSES_S", (0.0,) * 4)


@pytest.mark.parametrize("error", [httpx.ReadError, httpx.RemoteProtocolError])
def test_a_change_whose_answer_is_lost_is_done_once(
    face: FakeFace, tmp_path: Path, at_once: None, error: type[httpx.TransportError]
) -> None:
    face.answers(Take, lambda change: face.saved(change.job))
    transport = Losing(3, error)
    with (
        serving(face, Layout(tmp_path)) as url,
        closing(RemoteFace(url, transport=transport)) as cut,
        closing(RemoteFace(url)) as whole,
    ):
        first, second = do(cut, Take(JOB)), do(whole, Take(JOB))
    assert len(set(transport.keys)) == 1 and len(transport.keys) == 4 and transport.keys[0]
    assert face.begun == [Take(JOB), Take(JOB)]
    assert first.id != second.id and first.id in face.savepoints_by_id


def test_a_question_whose_answer_is_lost_is_asked_again(served: tuple[FakeFace, str], face: FakeFace, at_once: None) -> None:
    transport = Losing(1)
    with closing(RemoteFace(served[1], transport=transport)) as remote:
        assert remote.ask(ListJobs()) == tuple(face.ask(ListJobs()))
    assert transport.keys == ["", ""]


def test_a_line_that_is_always_cut_is_unavailable(served: tuple[FakeFace, str], at_once: None) -> None:
    transport = Losing(100)
    with closing(RemoteFace(served[1], transport=transport)) as remote, pytest.raises(Unavailable) as raised:
        remote.ask(ListJobs())
    assert (raised.value.code, len(transport.keys)) == ("server.unreachable", 5)


def test_what_is_still_under_way_is_asked_for_again(at_once: None) -> None:
    waits = Conflict("idempotency.under_way", "It is under way", "Try again.")
    answers = iter([httpx.Response(409, json=waits.as_json())] * 2 + [httpx.Response(204)])
    remote = RemoteFace("http://x", transport=httpx.MockTransport(lambda request: next(answers)))
    assert do(remote, Forget(JOB)) is None


def test_what_changes_is_watched(face: FakeFace, remote: RemoteFace) -> None:
    watched = remote.watch()
    first = [next(watched) for _ in face.ask(ListJobs())]
    assert {update.job: update.value for update in first} == {row.job.name: row for row in face.ask(ListJobs())}
    face.ended("clicks")
    changed = next(watched)
    assert (changed.kind, changed.job, changed.value.state) == (UpdateKind.JOB, "clicks", RunState.STOPPED)  # type: ignore[union-attr]
    watched.close()  # type: ignore[attr-defined]


def test_a_watch_goes_on_where_it_was_when_the_stream_ends(
    served: tuple[FakeFace, str], face: FakeFace, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "LONGEST_S", 0.2)
    transport = Losing(0)
    with closing(RemoteFace(served[1], transport=transport)) as remote, ThreadPoolExecutor(1) as threads:
        watched = remote.watch("clicks")
        assert next(watched).job == "clicks"
        changed = threads.submit(next, watched)
        until(lambda: len(transport.keys) > 2)
        face.ended("clicks")
        assert changed.result().value.state is RunState.STOPPED  # type: ignore[union-attr]
        watched.close()  # type: ignore[attr-defined]


def test_a_change_with_a_key_of_its_own_is_done_once_by_all_who_send_it(face: FakeFace, tmp_path: Path) -> None:
    face.answers(Take, lambda change: face.saved(change.job))
    with serving(face, Layout(tmp_path)) as url:
        for _ in range(2):
            with closing(RemoteFace(url)) as remote:
                remote.answer(remote.begin(Take(JOB), key="nightly"))
    assert face.begun == [Take(JOB)]


def test_a_watch_of_what_is_not_there_and_of_no_server_is_refused(remote: RemoteFace, at_once: None) -> None:
    with pytest.raises(NotFound):
        next(remote.watch("nobody"))
    with serving(FakeFace()) as url:
        pass
    with closing(RemoteFace(url)) as alone, pytest.raises(Unavailable) as raised:
        next(alone.watch())
    assert raised.value.code == "server.unreachable"
