"""Savepoints, forks and resumes whose bytes are copied: operations with progress, and a cancel that leaves nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.verbs.attach import Attach
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import ListExperiments
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.operations import CancelOperation, ListOperations, ShowOperation
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace import stops
from pipelines.workspace.tickets import Cancelled
from pipelines.workspace.workspace import Workspace
from tests import far
from tests.savepoint.apart import apart
from tests.savepoint.test_remote import upload
from tests.waiting import until
from tests.workspace.conftest import CODE, GOLDEN, NEWEST, House
from tests.workspace.gate import Gate


@pytest.fixture
def two_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    apart(monkeypatch)


def taken(face: Workspace, job: str = "a") -> Savepoint:
    return do(face, Take(job))


def cancelled(gate: Gate, face: Workspace, call: Callable[[], object]) -> None:
    """`call`, cancelled in the middle of its copy: that is what it raises, and how its operation ends."""
    with gate.held(call) as (going, answer):
        assert going.can_cancel and going.amount is not None
        assert going.amount.step == "copying" and going.amount.total > 0
        assert do(face, CancelOperation(going.id)).state is OperationState.RUNNING
    with pytest.raises(Cancelled):
        answer.result()
    ended = face.ask(ShowOperation(going.id))
    assert (ended.state, ended.can_cancel) == (OperationState.CANCELLED, False)
    assert face.context.under_way == {} and face.ask(ListOperations(running=True)) == []


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_savepoint_of_a_job_at_a_url_is_cancelled_and_taken_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    url = upload(GOLDEN / "stateless" / "checkpoint", f"{far.SCHEME}://{uuid4().hex}/checkpoint")
    do(house.face, Attach(name="a", checkpoints={"counts": url}, sink="console"))
    gate = Gate(monkeypatch, house.face, "take")
    cancelled(gate, house.face, lambda: do(house.face, Take("a")))
    assert files(house.face.layout.savepoints) == set() and house.face.ask(ListSavepoints()) == []
    saved = taken(house.face)
    assert do(house.face, Verify(saved.id, Trust.INTACT)).damages == ()
    assert house.face.ask(ListSavepoints("a")) != []


def test_what_is_copied_is_done_and_its_operation_says_what_it_made(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    with Gate(monkeypatch, house.face, "take").held(lambda: taken(house.face)) as (going, answer):
        assert (going.job, going.subject) == ("a", "")
    saved = answer.result()
    assert saved.new_bytes >= saved.bytes
    ended = house.face.ask(ShowOperation(going.id))
    assert (ended.state, ended.result) == (OperationState.DONE, saved.id)


def test_a_cancelled_fork_is_no_job(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    saved = taken(house.face)
    gate = Gate(monkeypatch, house.face, "fork")
    cancelled(gate, house.face, lambda: do(house.face, Fork(saved.id, name="b")))
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"] and files(house.face.layout.jobs / "b") == set()
    assert house.face.ask(ListOperations())[0].subject == saved.id
    assert do(house.face, Fork(saved.id, name="b")).job == "b"
    do(house.face, Dispose((saved.id,)))


def test_a_cancelled_run_from_a_savepoint_is_no_job(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    saved = taken(house.face)
    script = RunScript(name="b", script="job.py", code=CODE, args=("--output", "{output}"), from_savepoint=saved.id)
    cancelled(Gate(monkeypatch, house.face, "fork"), house.face, lambda: do(house.face, script))
    assert files(house.face.layout.jobs / "b") == set()
    assert do(house.face, script).from_savepoint == saved.id


def test_of_a_cancelled_experiment_no_variant_is_left(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    saved = taken(house.face)
    experiment = StartExperiment("try", saved.id, (Variant(name="b"), Variant(name="c")))
    cancelled(Gate(monkeypatch, house.face, "fork", skip=1), house.face, lambda: do(house.face, experiment))
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"] and house.face.ask(ListExperiments()) == []
    assert files(house.face.layout.jobs / "b") == files(house.face.layout.jobs / "c") == set()


@pytest.mark.parametrize("skip", [0, 1, 2])
def test_a_cancelled_rewind_leaves_the_job_as_it_was(skip: int, house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the savepoint of the present, in that of the batch, in the new checkpoint: of all three nothing stays."""
    run = house.ran("a")
    before = files(house.face.layout.job(run.job))
    cancelled(Gate(monkeypatch, house.face, "resume", skip), house.face, lambda: do(house.face, Resume("a", batch=7)))
    assert house.face.ask(ListSavepoints()) == [] and files(house.face.layout.savepoints) == set()
    assert {path for path in files(house.face.layout.job(run.job)) if not path.endswith("checkpoints")} == before - {"checkpoints"}
    assert [job_run.id for job_run in house.face.ask(ShowJob("a")).runs] == [run.id]
    do(house.face, Resume("a", batch=7))
    assert [savepoint.batch for savepoint in house.face.ask(ListSavepoints("a"))] == [7, NEWEST]


def test_a_savepoint_from_before_outlives_a_cancelled_resume_from_it(
    house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.ran("a")
    old = do(house.face, Take("a", batch=7))
    cancelled(Gate(monkeypatch, house.face, "resume"), house.face, lambda: do(house.face, Resume("a", from_savepoint=old.id)))
    assert [savepoint.id for savepoint in house.face.ask(ListSavepoints())] == [old.id]
    assert do(house.face, Verify(old.id)).damages == ()


def test_a_stop_whose_savepoint_is_cancelled_has_stopped(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    stopping = house.stop()
    house.see(run, RunState.STOPPED)
    asked = house.face.context.files.wanted(run.job).stop
    assert asked is not None
    with Gate(monkeypatch, house.face, "take").held(lambda: stops.finish(house.face.context, run.job, asked, with_savepoint=True)) as (
        going,
        answer,
    ):
        do(house.face, CancelOperation(going.id))
    assert answer.result() is None and house.face.ask(ListSavepoints()) == []
    ended = house.face.ask(ShowOperation(stopping.id))
    assert (ended.state, ended.error_code) == (OperationState.FAILED, "operation.cancelled")
    assert house.face.context.files.wanted(run.job).stop is None


def test_what_takes_no_time_is_no_operation(house: House) -> None:
    house.ran("a")
    saved = taken(house.face)
    do(house.face, Fork(saved.id, name="b"))
    do(house.face, Resume("a", batch=7))
    assert house.face.ask(ListOperations()) == [] and house.face.context.under_way == {}


def test_what_is_refused_is_raised_and_leaves_no_operation_under_way(house: House) -> None:
    house.begin("a")
    with pytest.raises(Conflict) as refused:
        do(house.face, Take("a"))
    assert refused.value.code == "savepoint.no_query"
    assert house.face.ask(ListOperations()) == [] and house.face.context.under_way == {}


def test_a_workspace_that_closes_ends_what_is_copied(house: House, two_disks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    with ThreadPoolExecutor(1) as closing:
        with Gate(monkeypatch, house.face, "take").held(lambda: taken(house.face)) as (going, answer):
            ticket = house.face.context.under_way[going.id]
            closed = closing.submit(house.face.close)
            until(ticket._ending.is_set)
            assert not closed.done()
        closed.result()
    with pytest.raises(Cancelled):
        answer.result()
    house.open()
    assert house.face.ask(ListSavepoints()) == [] and files(house.face.layout.savepoints) == set()
    assert house.face.ask(ShowOperation(going.id)).state is OperationState.CANCELLED
