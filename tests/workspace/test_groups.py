"""Several jobs stopped and resumed at once: each by itself, and what fails for one holds back no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.errors import Invalid, Refusal
from pipelines.domain.operations import OperationState
from pipelines.domain.runs import RunState
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.resume import JobsResume, Resume, ResumeJobs, ResumeOutcome
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.stop import JobsStop, Stop, StopJobs, StopOutcome
from pipelines.verbs.verb import Change
from pipelines.workspace import groups, resumes, stops
from pipelines.workspace.tickets import Cancelled, Ticket
from tests.workspace.conftest import House, job

Outcomes = tuple[StopOutcome, ...] | tuple[ResumeOutcome, ...]


def refusals(outcomes: Outcomes) -> dict[str, str]:
    return {outcome.job: outcome.refusal.code for outcome in outcomes if outcome.refusal is not None}


def runs(house: House, name: str) -> int:
    return len(house.face.ask(ShowJob(name)).runs)


def test_each_is_stopped_as_alone_and_one_that_does_not_run_holds_back_no_other(house: House) -> None:
    for name in ("a", "b", "c"):
        house.ran(name, state=RunState.STOPPED if name == "b" else RunState.RUNNING)
    change = StopJobs(("a", "b", "none", "c", "a"), label="night")
    alone = house.face.plan(Stop("a", label="night"))
    planned = house.face.plan(change)
    assert [outcome.job for outcome in planned.outcomes] == ["a", "b", "none", "c"], "each once"
    assert planned.outcomes[0] == StopOutcome("a", alone)
    assert refusals(planned.outcomes) == {"b": "job.not_running", "none": "job.not_found"}
    assert house.face.context.files.wanted(job("a")).stop is None, "a plan asks for nothing"
    done = do(house.face, change)
    assert refusals(done.outcomes) == refusals(planned.outcomes)
    under_way = {outcome.job: outcome.operation for outcome in done.outcomes if outcome.operation is not None}
    assert list(under_way) == ["a", "c"]
    for name, operation in under_way.items():
        stop = house.face.context.files.wanted(job(name)).stop
        assert stop is not None and (stop.operation, stop.label, stop.savepoint) == (operation.id, "night", True)
        saved = stops.finish(house.face.context, job(name), stop, with_savepoint=True)
        ended = house.face.ask(ShowOperation(operation.id))
        assert (ended.state, ended.result) == (OperationState.DONE, saved)
        assert [(savepoint.id, savepoint.label) for savepoint in house.face.ask(ListSavepoints(name))] == [(saved, "night")]


def test_several_are_cancelled_at_once(house: House) -> None:
    house.ran("a", state=RunState.RUNNING)
    done = do(house.face, StopJobs(("a",), at_once=True))
    stop = house.face.context.files.wanted(job("a")).stop
    assert stop is not None and stop.at_once and not stop.savepoint
    assert done.outcomes[0].operation is not None and done.outcomes[0].operation.kind == "cancel"


def test_each_is_resumed_as_alone_and_one_that_runs_holds_back_no_other(house: House) -> None:
    for name in ("a", "b", "c"):
        house.ran(name, state=RunState.RUNNING if name == "b" else RunState.STOPPED)
    alone = house.face.plan(Resume("c"))
    change = ResumeJobs(("a", "b", "c"))
    planned = house.face.plan(change)
    shown = planned.outcomes[2].plan
    assert shown is not None and (shown.job, shown.checkpoints, shown.how) == (alone.job, alone.checkpoints, alone.how)
    assert refusals(planned.outcomes) == {"b": "job.running"}
    assert [runs(house, name) for name in "abc"] == [1, 1, 1], "a plan begins nothing"
    done = do(house.face, change)
    assert [outcome.run is not None for outcome in done.outcomes] == [True, False, True]
    assert refusals(done.outcomes) == {"b": "job.running"}
    assert [runs(house, name) for name in "abc"] == [2, 1, 2]
    assert change.works_as(planned).subject == "a, c" and change.result(done) == "2 of 3 jobs"


def test_one_that_fails_as_it_begins_holds_back_no_other(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else resumed it after it was planned."""
    for name in ("a", "b"):
        house.ran(name)
    planned = groups.plan_resumes(house.face.context, ResumeJobs(("a", "b")))
    do(house.face, Resume("a"))
    done = planned.do(Ticket())
    assert list(refusals(done.outcomes)) == ["a"] and done.outcomes[1].run is not None


def test_what_is_planned_as_refused_is_not_begun(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ran("a")
    refused = Refusal("conflict", "some.code", "It is refused", "Wait.")
    usual = resumes.plan

    def plan(context: object, change: object) -> object:
        planned = usual(context, change)  # type: ignore[arg-type]
        return replace(planned, plan=replace(planned.plan, refusal=refused))

    monkeypatch.setattr(resumes, "plan", plan)
    done = do(house.face, ResumeJobs(("a",)))
    assert done.outcomes[0].refusal == refused and done.outcomes[0].plan is not None and runs(house, "a") == 1


def test_a_cancelled_one_begins_no_further_job(house: House) -> None:
    house.ran("a")
    planned = groups.plan_resumes(house.face.context, ResumeJobs(("a",)))
    ticket = Ticket()
    ticket.end()
    with pytest.raises(Cancelled):
        planned.do(ticket)
    assert runs(house, "a") == 1


@pytest.mark.parametrize("change", [StopJobs(()), ResumeJobs(())], ids=["stop", "resume"])
def test_none_is_refused(house: House, change: Change[JobsStop, JobsStop] | Change[JobsResume, JobsResume]) -> None:
    with pytest.raises(Invalid, check=lambda error: error.code == "jobs.nothing"):
        house.face.plan(change)
