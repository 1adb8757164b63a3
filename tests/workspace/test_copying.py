"""Savepoints, forks and resumes whose bytes are copied: operations with progress, and a cancel that leaves nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.domain.requests import AttachRequest, ExperimentRequest, ForkRequest, ResumeRequest, RunRequest, StopRequest, TakeRequest
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.workspace import operations, stops
from pipelines.workspace.workspace import Workspace
from tests.savepoint.apart import apart
from tests.savepoint.test_remote import upload
from tests.waiting import until
from tests.workspace.conftest import CODE, GOLDEN, NEWEST, House
from tests.workspace.gate import Gate


@pytest.fixture
def two_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    apart(monkeypatch)


def taken(face: Workspace, job: str = "a") -> Savepoint:
    made = face.take(job, TakeRequest())
    assert isinstance(made, Savepoint)
    return made


def cancelled(gate: Gate, face: Workspace, call: Callable[[], object]) -> None:
    """`call`, cancelled in the middle of its copy: that is what it raises, and how its operation ends."""
    with gate.held(call) as (going, answer):
        assert going.can_cancel and going.amount is not None
        assert going.amount.step == "copying" and going.amount.total > 0
        assert face.cancel(going.id).state is OperationState.RUNNING
    with pytest.raises(operations.Cancelled):
        answer.result()
    ended = face.operation(going.id)
    assert (ended.state, ended.can_cancel) == (OperationState.CANCELLED, False)
    assert face.context.under_way == {} and face.operations(running=True) == []


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_savepoint_of_a_job_at_a_url_is_cancelled_and_taken_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    url = upload(GOLDEN / "stateless" / "checkpoint", f"memory://{uuid4().hex}/checkpoint")
    house.face.attach(AttachRequest("a", {"counts": url}, "console"))
    gate = Gate(monkeypatch, house.face, "take")
    cancelled(gate, house.face, lambda: house.face.take("a", TakeRequest()))
    assert files(house.face.layout.savepoints) == set() and house.face.savepoints() == []
    saved = taken(house.face)
    assert house.face.verify(saved.id, Trust.INTACT).damages == ()
    assert house.face.savepoints("a") != []


def test_what_is_copied_is_done_and_its_operation_says_what_it_made(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    with Gate(monkeypatch, house.face, "take").held(lambda: taken(house.face)) as (going, answer):
        assert (going.job, going.subject) == ("a", "")
    saved = answer.result()
    assert isinstance(saved, Savepoint) and saved.new_bytes >= saved.bytes
    ended = house.face.operation(going.id)
    assert (ended.state, ended.result) == (OperationState.DONE, saved.id)


def test_a_cancelled_fork_is_no_job(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    saved = taken(house.face)
    gate = Gate(monkeypatch, house.face, "fork")
    cancelled(gate, house.face, lambda: house.face.fork(saved.id, ForkRequest("b")))
    assert [one.job.name for one in house.face.jobs()] == ["a"] and files(house.face.layout.jobs / "b") == set()
    assert house.face.operations()[0].subject == saved.id
    assert isinstance(house.face.fork(saved.id, ForkRequest("b")), Run)
    house.face.dispose(saved.id)


def test_a_cancelled_run_from_a_savepoint_is_no_job(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    saved = taken(house.face)
    request = RunRequest("b", "job.py", CODE, ("--output", "{output}"), from_savepoint=saved.id)
    cancelled(Gate(monkeypatch, house.face, "fork"), house.face, lambda: house.face.run(request))
    assert files(house.face.layout.jobs / "b") == set()
    assert house.face.run(request).from_savepoint == saved.id


def test_of_a_cancelled_experiment_no_variant_is_left(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    saved = taken(house.face)
    request = ExperimentRequest("try", saved.id, (ForkRequest("b"), ForkRequest("c")))
    cancelled(Gate(monkeypatch, house.face, "fork", skip=1), house.face, lambda: house.face.start_experiment(request))
    assert [one.job.name for one in house.face.jobs()] == ["a"] and house.face.experiments() == []
    assert files(house.face.layout.jobs / "b") == files(house.face.layout.jobs / "c") == set()


@pytest.mark.parametrize(("kind", "skip"), [("take", 0), ("take", 1), ("resume", 0)])
def test_a_cancelled_rewind_leaves_the_job_as_it_was(
    kind: str, skip: int, house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the savepoint of the present, in that of the batch, in the new checkpoint: of all three nothing stays."""
    run = house.ran("a")
    before = files(house.face.layout.job(run.job))
    cancelled(Gate(monkeypatch, house.face, kind, skip), house.face, lambda: house.face.resume("a", ResumeRequest(batch=7)))
    assert house.face.savepoints() == [] and files(house.face.layout.savepoints) == set()
    assert {path for path in files(house.face.layout.job(run.job)) if not path.endswith("checkpoints")} == before - {"checkpoints"}
    assert [one.id for one in house.face.job("a").runs] == [run.id]
    again = house.face.resume("a", ResumeRequest(batch=7))
    assert isinstance(again, Run) and [one.batch for one in house.face.savepoints("a")] == [7, NEWEST]


def test_a_savepoint_from_before_outlives_a_cancelled_resume_from_it(
    house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.ran("a")
    old = house.face.take("a", TakeRequest(batch=7))
    assert isinstance(old, Savepoint)
    cancelled(Gate(monkeypatch, house.face, "resume"), house.face, lambda: house.face.resume("a", ResumeRequest(old.id)))
    assert [one.id for one in house.face.savepoints()] == [old.id]
    assert house.face.verify(old.id).damages == ()


def test_a_stop_whose_savepoint_is_cancelled_has_stopped(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    stopping = house.face.stop("a", StopRequest())
    house.see(run, RunState.STOPPED)
    asked = house.face.context.files.wanted(run.job).stop
    assert asked is not None
    with Gate(monkeypatch, house.face, "take").held(lambda: stops.finish(house.face.context, run.job, asked, with_savepoint=True)) as (
        going,
        answer,
    ):
        house.face.cancel(going.id)
    assert answer.result() is None and house.face.savepoints() == []
    ended = house.face.operation(stopping.id)
    assert (ended.state, ended.error_code) == (OperationState.FAILED, "operation.cancelled")
    assert house.face.context.files.wanted(run.job).stop is None


def test_what_takes_no_time_is_no_operation(house: House) -> None:
    house.ran("a")
    saved = taken(house.face)
    house.face.fork(saved.id, ForkRequest("b"))
    house.face.resume("a", ResumeRequest(batch=7))
    assert house.face.operations() == [] and house.face.context.under_way == {}


def test_what_is_refused_is_raised_and_leaves_no_operation_under_way(house: House) -> None:
    house.begin("a")
    with pytest.raises(Conflict) as refused:
        house.face.take("a", TakeRequest())
    assert refused.value.code == "savepoint.no_query"
    assert house.face.operations() == [] and house.face.context.under_way == {}


def test_a_workspace_that_closes_ends_what_is_copied(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    with ThreadPoolExecutor(1) as closing:
        with Gate(monkeypatch, house.face, "take").held(lambda: taken(house.face)) as (going, answer):
            ticket = house.face.context.under_way[going.id]
            closed = closing.submit(house.face.close)
            until(ticket._ending.is_set)
            assert not closed.done()
        closed.result()
    with pytest.raises(operations.Cancelled):
        answer.result()
    house.open()
    assert house.face.savepoints() == [] and files(house.face.layout.savepoints) == set()
    assert house.face.operation(going.id).state is OperationState.CANCELLED
