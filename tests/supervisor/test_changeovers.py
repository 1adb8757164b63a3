"""Changeovers whose server is killed, or ends, between its steps: the next one completes them, once, with real drivers."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from pipelines.domain.decisions import Choice
from pipelines.domain.errors import Conflict, Unavailable
from pipelines.domain.jobs import Run
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Reason
from pipelines.domain.versions import Version
from pipelines.domain.workspace_leases import unrenewed
from pipelines.supervisor import processes
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import ShowExperiment
from pipelines.verbs.face import do
from pipelines.verbs.fork import Variant
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.verbs.take import Take
from pipelines.verbs.upgrade import Upgrade
from pipelines.workspace import changeovers, versions
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket
from tests.savepoint.golden import lay_checkpoint
from tests.supervisor.conftest import House, until
from tests.supervisor.killed_changing_over import CHANGES
from tests.workspace import process_forks
from tests.workspace.test_rescales import partitions

CHANGED = CHANGES["upgrade"]


def operation(house: House, kind: str) -> Operation:
    (found,) = [operation for operation in house.workspace.ask(ListOperations()) if operation.kind == kind]
    return found


def passes(house: House, kind: str = "upgrade") -> bool:
    """Whether the changeover has ended, after a pass."""
    house.run()
    return operation(house, kind).state is not OperationState.RUNNING


def said(house: House) -> list[str]:
    return [event.message for event in house.workspace.ask(ListEvents("a"))]


def has_document(house: House) -> bool:
    return changeovers.find(house.workspace.context, house.run().job) is not None


def completed_once(house: House, kind: str, words: str) -> tuple[Run, Run]:
    """The run that goes on and the one that was stopped for it; `words` are what is said of them."""
    until(lambda: passes(house, kind))
    until(lambda: house.run().state is RunState.RUNNING)
    after, before = house.workspace.ask(ShowJob("a")).runs
    ended = operation(house, kind)
    assert (ended.state, ended.result) == (OperationState.DONE, after.id), ended
    assert before.state is RunState.STOPPED
    taken_up = f"the {kind} of a goes on: its server had ended"
    assert said(house).count(words.format(after=after, before=before)) == said(house).count(taken_up) == 1 and not has_document(house)
    return after, before


def assert_upgraded_once(house: House) -> None:
    after, before = completed_once(house, "upgrade", "a was upgraded: it goes on as version {after.version}, where it was {before.version}")
    assert after.version != before.version


def killed(house: House, kind: str, what: str, number: int) -> None:
    """The server ends there, with all of its process, and another one opens the workspace."""
    house.workspace.close()
    with process_forks.of("tests.supervisor.killed_changing_over") as forked:
        assert forked(house.root, kind, what, number) == -signal.SIGKILL
    house.open()


def assert_untouched(house: House, kind: str) -> None:
    run = house.run()
    assert (run.state, operation(house, kind).error_code) == (RunState.RUNNING, "operation.interrupted")
    assert len(house.workspace.ask(ShowJob("a")).runs) == 1


def reap(driver: int) -> None:
    if (begun_here := processes._CHILDREN.pop(driver, None)) is not None:
        begun_here.wait()


STEPS = {
    "undecided": ("changeover.json", 1),
    "decided": ("wanted.json", 1),
    "stopping": ("wanted.json", 2),
    "stopped": ("run.json", 1),
    "beginning": ("wanted.json", 3),
    "begun": ("forget", 0),
}


@pytest.mark.parametrize(("what", "number"), STEPS.values(), ids=STEPS)
def test_a_server_is_killed_between_its_steps(house: House, what: str, number: int) -> None:
    driver = house.up(house.begin("wait"))
    until(lambda: house.run().state is RunState.RUNNING)
    killed(house, "upgrade", what, number)
    if what == "changeover.json":
        assert_untouched(house, "upgrade")
        return
    if what == "forget":
        do(house.workspace, RebuildCatalog())
    assert_upgraded_once(house)
    reap(driver)


def with_state(house: House, run: Run) -> int:
    """The pid of the run's driver, which has a query with state."""
    lay_checkpoint("rocksdb_format2", Path(run.checkpoints) / "counts")
    pid = house.up(run)
    until(lambda: house.run(run.job).state is RunState.RUNNING)
    return pid


PROMOTED = {**STEPS, "begun": ("experiments", 1), "recorded": ("forget", 0)}


@pytest.mark.parametrize(("what", "number"), PROMOTED.values(), ids=PROMOTED)
def test_a_server_is_killed_between_the_steps_of_a_promotion(house: House, what: str, number: int) -> None:
    driver = with_state(house, house.begin("query"))
    saved = do(house.workspace, Take("a"))
    made = do(house.workspace, StartExperiment("ads", saved.id, (Variant(name="b", code="x = 2\n", check=False),), with_parent=True))
    house.up(house.run("b"))
    until(lambda: house.run("b").state is RunState.RUNNING)
    killed(house, "promote", what, number)
    if what == "changeover.json":
        assert_untouched(house, "promote")
        assert not house.workspace.ask(ShowExperiment(made.id)).decisions
        return
    after, before = completed_once(house, "promote", "b was promoted: a goes on with version {after.version}")
    variant = house.run("b")
    assert (variant.state, after.version) == (RunState.RUNNING, variant.version) and after.version != before.version
    (stop,) = [savepoint for savepoint in house.workspace.ask(ListSavepoints("a")) if savepoint.reason is Reason.STOP]
    do(house.workspace, RebuildCatalog())
    (decided,) = house.workspace.ask(ShowExperiment(made.id)).decisions
    assert (decided.job, decided.choice, decided.parent) == ("b", Choice.PROMOTED, "a")
    assert (decided.version, decided.run, decided.savepoint) == (after.version, after.id, stop.id)
    reap(driver)


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
@pytest.mark.parametrize("step", ["decided", "stopped", "begun"])
def test_a_server_is_killed_between_the_steps_of_a_rescaling(house: House, step: str) -> None:
    """The state is rewritten by Spark, also by the server that is killed where the job was stopped: a copy that no run began is removed."""
    driver = with_state(house, house.begin("query"))
    killed(house, "rescale", *STEPS[step])
    after, before = completed_once(house, "rescale", "a was rescaled: it goes on with its state in 4 partitions")
    checkpoints = [Path(run.checkpoints) for run in (before, after)]
    assert [partitions(folder / "counts") for folder in checkpoints] == [2, 4] and after.version == before.version
    assert sorted(checkpoints) == sorted(path for path in checkpoints[0].parent.iterdir() if not path.name.startswith("."))
    reap(driver)


def test_a_server_that_ends_leaves_it_to_the_next(house: House) -> None:
    house.up(house.begin("wait"))
    until(lambda: house.run().state is RunState.RUNNING)
    house.workspace.begin(CHANGED)
    until(lambda: house.workspace.context.files.wanted(house.run().job).stop is not None)
    house.reopen()
    assert_upgraded_once(house)


def test_a_server_that_may_have_lost_the_workspace_leaves_it_until_that_is_its_own(house: House) -> None:
    run = house.begin("wait")
    house.up(run)
    files = house.workspace.context.files

    def check() -> None:
        if threading.current_thread().name.startswith("operation") and files.exit(run.job, run.id) is not None:
            raise unrenewed(str(house.root), "")

    files.check = check
    house.workspace.begin(CHANGED)
    until(lambda: house.run().state is RunState.STOPPED)
    until(lambda: not house.workspace.context.under_way)
    assert operation(house, "upgrade").state is OperationState.RUNNING
    files.check = lambda: None
    assert_upgraded_once(house)


def test_a_job_that_is_being_changed_over_is_not_changed_over_beside(house: House) -> None:
    run = house.begin("wait")
    house.up(run)
    house.workspace.begin(CHANGED)
    until(lambda: changeovers.find(house.workspace.context, run.job) is not None)
    begun = house.workspace.begin(Upgrade("a", code="x = 3\n", check=False))
    with pytest.raises(Conflict, match="is being stopped and begun again") as refused:
        house.workspace.answer(begun)
    assert refused.value.code == "resume.overtaken"
    until(lambda: house.run().id != run.id and not house.workspace.context.under_way)
    done, refusal = (operation.state for operation in house.workspace.ask(ListOperations())[::-1] if operation.kind == "upgrade")
    assert (done, refusal) == (OperationState.DONE, OperationState.FAILED) and len(house.workspace.ask(ShowJob("a")).runs) == 2


def test_where_the_changed_code_cannot_begin_any_more_the_job_goes_on_as_it_was(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    before = house.begin("wait")
    house.up(before)
    house.workspace.begin(CHANGED)
    until(lambda: house.workspace.context.files.wanted(before.job).stop is not None)
    house.workspace.close()
    freeze = versions.freeze

    def fails(context: Context, version: Version, ticket: Ticket) -> Version:
        if version.id != before.version:
            raise Unavailable("disk.full", "The code could not be written.", "Make room.")
        return freeze(context, version, ticket)

    monkeypatch.setattr(versions, "freeze", fails)
    house.open()
    until(lambda: passes(house))
    run = house.run()
    assert run.id != before.id and run.version == before.version and run.state.live and not has_document(house)
    ended = operation(house, "upgrade")
    assert (ended.error_code, ended.error_message) == ("disk.full", "The code could not be written. a goes on as it was")
