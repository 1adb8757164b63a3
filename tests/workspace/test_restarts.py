"""A job that waits for its restart: what can be done with it before its time has come."""

from __future__ import annotations

from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.runs import RESTART_FILE, RunState
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.take import Take
from pipelines.workspace import resumes, runs, stops
from tests.workspace.conftest import NEWEST, House

LATER = RestartDecision(2_000_000_000_000, 2, 5, 1_500)


def waiting(house: House) -> Run:
    """A job with a checkpoint whose run failed, as the supervisor leaves it until the next one begins."""
    run = house.ran(state=RunState.FAILED)
    context = house.face.context
    context.files.write(house.folder(run) / RESTART_FILE, LATER)
    return runs.update(context, run.id, state=RunState.RESTARTING, restart=LATER)


def newest(house: House) -> Run:
    return house.face.ask(ShowJob("a")).runs[0]


def test_a_stop_takes_its_savepoint_and_nothing_waits_any_more(house: House) -> None:
    run = waiting(house)
    operation = house.stop()
    stop = house.face.context.files.wanted(run.job).stop
    assert stop is not None
    saved = stops.finish(house.face.context, run.job, stop, with_savepoint=True)
    assert saved is not None and house.face.ask(ShowSavepoint(saved)).batch == NEWEST
    assert house.face.ask(ShowOperation(operation.id)).state is OperationState.DONE
    stopped = newest(house).restart
    assert newest(house).state is RunState.FAILED and stopped is not None
    assert (stopped.at_ms, stopped.why) == (None, "it was stopped while it waited")


def test_who_resumes_by_hand_does_not_make_it_one_that_restarts_often(house: House) -> None:
    def recent() -> int:
        return house.face.ask(ShowJob("a")).summary.recent_restarts

    first = house.ran(state=RunState.FAILED)
    house.see(do(house.face, Resume(first.job)), RunState.FAILED)
    assert recent() == 0
    house.see(resumes.restart(house.face.context, first.job, 1), RunState.FAILED)
    assert (recent(), house.face.ask(ShowJob("a")).summary.restarts) == (1, 2)
    house.clock.pass_ms(3_600_001)
    assert recent() == 0


def test_it_is_saved_and_forked_and_waits_on(house: House) -> None:
    waiting(house)
    do(house.face, Fork(do(house.face, Take("a")).id, name="b"))
    house.reopen()
    assert (newest(house).state, newest(house).restart) == (RunState.RESTARTING, LATER)
