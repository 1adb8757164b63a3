"""What begins as a change: answered at once, or under way as an operation whose answer is read later. And plans, which change nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines import verbs
from pipelines.domain.applications import UNANSWERED_FILE, Unanswered
from pipelines.domain.errors import Conflict, NotFound, Unavailable
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason
from pipelines.domain.trust import Trust
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.attach import Attach
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.operations import CancelOperation, ListOperations, ReadAnswer, ShowOperation
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import ListEvents, RebuildCatalog, StartExample
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Begun, Change, Question
from pipelines.verbs.verify import Verify
from pipelines.workspace import doers, operations, outcomes
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Cancelled
from tests.savepoint.apart import apart
from tests.workspace.conftest import CODE, GOLDEN, NEWEST, House, job
from tests.workspace.gate import Gate

Held = Callable[[Begun[Any]], object]


def begin_held(house: House, monkeypatch: pytest.MonkeyPatch, kind: str, change: Change[Any, Any], held: Held) -> Any:
    """What came of `change`, which is looked at (`held`) in the middle of its copy; who began it has its operation by then."""
    apart(monkeypatch)
    monkeypatch.setattr(operations, "AT_ONCE_S", 0)
    gate = Gate(monkeypatch, house.face, kind)
    with gate.held(lambda: house.face.begin(change)) as (going, answer):
        begun = answer.result()
        assert isinstance(begun, Begun) and begun.operation is not None
        assert not begun.is_answered and begun.operation.id == going.id
        held(begun)
    return house.face.answer(begun)


def test_every_declared_verb_is_answered_or_planned() -> None:
    questions = [kind for kind in verbs.every() if issubclass(kind, Question)]
    assert all(map(doers.answerer, questions)) and all(map(doers.planner, verbs.changes()))


def test_what_takes_its_time_is_an_operation_and_its_answer_is_read_later(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")

    def under_way(begun: Begun[Any]) -> None:
        with pytest.raises(Conflict, check=lambda error: error.code == "operation.running"):
            house.face.ask(ReadAnswer(begun.operation.id))

    savepoint = begin_held(house, monkeypatch, "take", Take("a"), under_way)
    (operation,) = house.face.ask(ListOperations())
    assert (operation.state, operation.result, operation.job) == (OperationState.DONE, savepoint.id, "a")
    assert house.face.ask(ReadAnswer(operation.id)) == savepoint == house.face.ask(ListSavepoints("a"))[0]


def test_who_waits_for_what_was_cancelled_hears_that(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    with pytest.raises(Cancelled):
        begin_held(house, monkeypatch, "take", Take("a"), lambda begun: do(house.face, CancelOperation(begun.operation.id)))
    (operation,) = house.face.ask(ListOperations())
    with pytest.raises(Cancelled):
        house.face.ask(ReadAnswer(operation.id))
    with pytest.raises(Conflict, check=lambda error: error.code == "operation.ended"):
        house.face.begin(CancelOperation(operation.id))


def test_a_resume_with_all_that_it_takes_on_its_way_is_one_operation(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    run = begin_held(house, monkeypatch, "resume", Resume("a", batch=7), lambda begun: None)
    (operation,) = house.face.ask(ListOperations())
    assert (operation.kind, operation.state, operation.job) == ("resume", OperationState.DONE, "a")
    assert house.face.ask(ShowJob("a")).runs[0] == run
    assert [savepoint.reason for savepoint in house.face.ask(ListSavepoints("a"))] == [Reason.REWIND, Reason.BEFORE_RESUME]


def refused(house: House, begun: Begun[Any]) -> None:
    """The operation is there, its answer is not any more."""
    assert begun.operation is not None and house.face.ask(ShowOperation(begun.operation.id)).state is OperationState.DONE
    with pytest.raises(NotFound, check=lambda error: error.code == "operation.answer_gone"):
        house.face.ask(ReadAnswer(begun.operation.id))


def test_answers_are_kept_of_the_newest_operations_until_the_end_of_the_process(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "KEPT", 1)
    house.ran("a")
    savepoint = do(house.face, Take("a"))
    first = house.face.begin(Verify(savepoint.id, Trust.COMPLETE))
    assert first.operation is not None
    operations.wait(house.face.context, first.operation.id)
    second = house.face.begin(Verify(savepoint.id, Trust.COMPLETE))
    assert house.face.answer(second).reached is house.face.answer(second).reached is Trust.COMPLETE
    refused(house, first)
    house.reopen()
    refused(house, second)


# plans


CHANGES: dict[str, Callable[[str], Change[Any, Any]]] = {
    "annotate": lambda savepoint: Annotate(savepoint, label="new"),
    "attach": lambda savepoint: Attach(name="b", checkpoints={"counts": str(GOLDEN / "stateless" / "checkpoint")}),
    "diagnose": lambda savepoint: Diagnose("a"),
    "dispose": lambda savepoint: Dispose((savepoint,)),
    "experiment": lambda savepoint: StartExperiment("try", savepoint, (Variant(name="b"), Variant(name="c"))),
    "export": lambda savepoint: Export(savepoint, "/nowhere/out"),
    "fork": lambda savepoint: Fork(savepoint, name="b"),
    "rebuild": lambda savepoint: RebuildCatalog(),
    "resume": lambda savepoint: Resume("a"),
    "resume from a savepoint": lambda savepoint: Resume("a", from_savepoint=savepoint),
    "rewind": lambda savepoint: Resume("a", batch=5),
    "run": lambda savepoint: RunScript(name="b", script="job.py", code=CODE),
    "run from a savepoint": lambda savepoint: RunScript(name="b", script="job.py", code=CODE, from_savepoint=savepoint),
    "start the example": lambda savepoint: StartExample(),
    "take": lambda savepoint: Take("a"),
    "take to a url": lambda savepoint: Take("a", to="/nowhere/out"),
    "upgrade": lambda savepoint: Resume("a", code="x = 1\n"),
    "verify": lambda savepoint: Verify(savepoint),
}


def contents(house: House) -> dict[Path, bytes]:
    """Every file of the workspace but the catalog's, which is open."""
    files = (path for path in house.root.rglob("*") if path.is_file() and not path.name.startswith(house.face.layout.catalog_file.name))
    return {path: path.read_bytes() for path in files}


@pytest.mark.parametrize("named", CHANGES)
def test_a_plan_changes_nothing(named: str, house: House) -> None:
    house.ran("a")
    savepoint = do(house.face, Take("a", batch=NEWEST - 2))
    before, events = contents(house), house.face.ask(ListEvents())
    assert house.face.plan(CHANGES[named](savepoint.id)) is not None
    assert contents(house) == before and house.face.ask(ListEvents()) == events
    assert house.face.ask(ListOperations()) == [] and house.face.context.under_way == {}


def test_a_plain_resume_goes_on_as_it_is_and_saves_nothing(house: House) -> None:
    run = house.ran("a")
    plan = house.face.plan(Resume("a"))
    assert (plan.how, plan.checkpoints, plan.version, plan.saves, plan.savepoint) == ("as it is", run.checkpoints, run.version, (), "")


@pytest.mark.parametrize("change", [Resume("a", batch=7), Resume("a", code="x = 1\n")])
def test_a_resume_saves_what_its_plan_says(change: Resume, house: House) -> None:
    house.ran("a")
    plan = house.face.plan(change)
    run = do(house.face, change)
    assert plan.saves == tuple(savepoint.label for savepoint in house.face.ask(ListSavepoints("a"))[::-1]) != ()
    assert (plan.version, plan.job) == (run.version, run.job)


def test_the_plan_of_a_second_stop_names_the_first(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    plan = house.face.plan(Stop("a"))
    assert (plan.run, plan.under_way) == (run.id, None) and house.face.context.files.wanted(job("a")).stop is None
    assert house.face.plan(Stop("a")).under_way is None
    asked = house.stop()
    assert house.face.plan(Stop("a", at_once=True)).under_way == asked.id


def test_a_stop_that_does_not_reach_its_run_says_what_it_waits_for(house: House) -> None:
    run = house.ran("a", state=RunState.RUNNING)
    asked = house.stop()
    assert house.face.ask(ShowOperation(asked.id)).amount is None
    silence = house.face.layout.run(run.job, run.id) / UNANSWERED_FILE
    house.face.context.files.write(silence, Unanswered(1, "Kubernetes does not answer"))
    shown = house.face.ask(ShowOperation(asked.id))
    assert shown.amount is not None and shown.amount.step == "waits: Kubernetes does not answer"
    silence.unlink()
    assert house.face.ask(ListOperations(running=True))[0].amount is None


def test_the_plan_of_forgetting_says_what_goes_and_what_stays(house: House) -> None:
    run = house.begin("a")
    house.see(run, RunState.STOPPED)
    plan = house.face.plan(Forget("a"))
    assert (plan.job, plan.runs, plan.savepoints, plan.folder) == ("a", (run.id,), 0, str(house.face.layout.job(run.job)))
    assert house.face.ask(ShowJob("a")).runs[0].id == run.id


def test_an_operation_whose_end_could_not_be_kept_has_ended_all_the_same(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    save, rows = operations.save, []

    def full(context: Context, operation: Operation) -> None:
        rows.append(operation)
        if operation.state is not OperationState.RUNNING:
            raise Unavailable("storage.full", "The disk is full", "Make room.")
        save(context, operation)

    monkeypatch.setattr(operations, "save", full)
    savepoint = do(house.face, Take("a"))
    begun = house.face.begin(Verify(savepoint.id, Trust.COMPLETE))
    assert house.face.answer(begun).reached is Trust.COMPLETE
    assert begun.operation is not None
    assert house.face.ask(ShowOperation(begun.operation.id)).state is OperationState.DONE
    assert rows[-1].state is OperationState.DONE


def test_an_operation_that_is_itself_the_answer_is_read_as_one(house: House, tmp_path: Path) -> None:
    house.ran("a")
    savepoint = do(house.face, Take("a"))
    begun = house.face.begin(Export(savepoint.id, str(tmp_path / "out")))
    ended = house.face.answer(begun)
    assert house.face.ask(ReadAnswer(ended.id)) == ended
