"""Restarts by the supervisor, with real processes: what it restarts, how it waits, and what ends the wait."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace

import pytest

from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.findings import Problem
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.domain.resources import EXCEEDED
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.restarts import STUCK_AFTER
from pipelines.domain.runs import RunState
from pipelines.supervisor import restarts
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.resume import Resume
from pipelines.verbs.schedule import SetSchedule
from pipelines.verbs.system import ListEvents, RebuildCatalog
from pipelines.workspace.schedules.job_runs import Runs
from tests.supervisor.conftest import House, until

HOUR_MS = 3_600_000
STREAM = "df.writeStream\n"


def strategy(house: House, name: Strategy, **options: int) -> None:
    do(house.workspace, SetRestartStrategy("a", name, **options))  # type: ignore[arg-type]


def kinds(house: House) -> list[str]:
    return [event.kind for event in house.workspace.ask(ListEvents("a"))]


def runs(house: House) -> list[Run]:
    return list(house.workspace.ask(ShowJob("a")).runs)


def killed(house: House, run: Run) -> None:
    """Kills the run's driver, once its query is up."""
    pid = house.up(run)
    until(lambda: house.run().state is RunState.RUNNING)
    os.kill(pid, signal.SIGKILL)


def waiting(house: House) -> Run:
    """A job whose driver was killed, and which waits an hour for its restart."""
    run = house.begin("query", code=STREAM)
    strategy(house, Strategy.FIXED_DELAY, attempts=3, delay_ms=HOUR_MS)
    killed(house, run)
    until(lambda: house.run().state is RunState.RESTARTING)
    return run


def test_a_killed_driver_is_restarted_from_its_checkpoint_as_often_as_its_strategy_says(house: House) -> None:
    first = house.begin("query", code=STREAM)
    strategy(house, Strategy.FIXED_DELAY, attempts=2, delay_ms=1)
    for attempt in (0, 1, 2):
        until(lambda: house.run().attempt == attempt)  # noqa: B023  asked before the next one
        killed(house, runs(house)[0])
    until(lambda: house.run().state is RunState.FAILED)
    third, second, was = runs(house)
    assert [third.attempt, second.attempt, was.attempt] == [2, 1, 0]
    assert {run.checkpoints for run in (third, second, was)} == {first.checkpoints}
    assert (was.state, was.exit is not None and was.exit.reason) == (RunState.FAILED, "killed")
    assert third.restart is not None and third.restart.why == "it was restarted 2 times"
    assert [kind for kind in kinds(house) if kind.startswith("restart.")] == [
        "restart.refused", "restart.begun", "restart.planned", "restart.begun", "restart.planned",
    ]  # fmt: skip


def test_the_usual_strategy_restarts_a_stream_after_about_a_second(house: House) -> None:
    killed(house, house.begin("query", code=STREAM))
    until(lambda: house.run().attempt == 1)
    before = runs(house)[1]
    assert before.restart is not None and before.restart.at_ms is not None and before.exit is not None
    assert 900 <= before.restart.at_ms - before.exit.at_ms <= 1_100


def test_a_job_that_waits_says_so_and_goes_on_waiting_in_the_next_server(house: House) -> None:
    run = waiting(house)
    summary = house.workspace.ask(ShowJob("a")).summary
    finding = summary.findings[0]
    assert (summary.state, finding.problem) == (RunState.RESTARTING, Problem.WAITING)
    assert finding.title.startswith("restarting in ") and finding.words.startswith("attempt 1 of 3. the driver was ended by signal 9")
    house.reopen()
    assert house.run().state is RunState.RESTARTING
    do(house.workspace, RebuildCatalog())
    assert (house.run().state, house.run().id) == (RunState.RESTARTING, run.id)
    house.ahead_ms = HOUR_MS
    until(lambda: house.run().attempt == 1)
    assert runs(house)[1].state is RunState.FAILED
    house.reopen()
    do(house.workspace, RebuildCatalog())
    assert runs(house)[1].state is RunState.FAILED


def test_a_stop_ends_the_wait(house: House) -> None:
    run = waiting(house)
    with pytest.raises(Conflict):
        do(house.workspace, Forget("a"))
    operation = house.stop(savepoint=False)
    until(lambda: house.workspace.ask(ShowOperation(operation.id)).state is not OperationState.RUNNING or house.supervisor.tick())
    assert house.workspace.ask(ShowOperation(operation.id)).state is OperationState.DONE
    house.ahead_ms = 2 * HOUR_MS
    assert (house.run().state, house.run().id) == (RunState.FAILED, run.id)
    do(house.workspace, RebuildCatalog())
    assert (house.run().state, house.run().id) == (RunState.FAILED, run.id)
    assert kinds(house)[:2] == ["run.stop", "restart.cancelled"]
    do(house.workspace, Forget("a"))


def test_a_resume_by_hand_ends_the_wait_and_counts_anew(house: House) -> None:
    waiting(house)
    second = do(house.workspace, Resume("a"))
    assert (second.attempt, runs(house)[1].state) == (0, RunState.FAILED)
    killed(house, second)
    until(lambda: house.run().state is RunState.RESTARTING)
    decision = house.run().restart
    assert decision is not None and (decision.attempt, decision.most) == (1, 3)


@pytest.mark.parametrize(
    ("deed", "why"),
    [
        ("fail", "it failed before a query of it had started"),
        ("leave", "it failed before a query of it had started"),
        ("crash-once", "its queries end by themselves, so that it is not restarted unless a strategy says so"),
    ],
)
def test_what_is_not_restarted(house: House, deed: str, why: str) -> None:
    house.begin(deed, code=STREAM)
    until(lambda: house.run().state is RunState.FAILED)
    run = house.run()
    assert run.restart is not None and (run.restart.at_ms, run.restart.why) == (None, why)


def test_a_job_that_ends_well_is_left_alone(house: House) -> None:
    house.begin("finish", code=STREAM)
    until(lambda: house.run().state is RunState.FINISHED)
    assert house.run().restart is None


def test_a_job_of_its_own_end_is_restarted_where_a_strategy_says_so(house: House) -> None:
    house.begin("crash-once", code=STREAM)
    strategy(house, Strategy.FIXED_DELAY, attempts=1, delay_ms=1)
    until(lambda: (house.run().attempt, house.run().state) == (1, RunState.FAILED))


def test_a_batch_that_fails_three_times_stops_the_job_and_is_named(house: House) -> None:
    house.begin("crash", code=STREAM)
    strategy(house, Strategy.FIXED_DELAY, attempts=100, delay_ms=1)
    until(lambda: house.run().state is RunState.FAILED)
    third = house.run()
    assert (third.attempt, len(runs(house))) == (2, 3)
    decision = third.restart
    assert decision is not None and decision.batch is not None and decision.poison == 3
    assert (decision.batch.query, decision.batch.batch) == ("counts", 0)
    source = decision.batch.sources[0]
    assert (source.before, json.loads(source.offset), source.amount, source.unit) == ("", {"clicks": {"0": 10, "1": 5}}, None, "rows")
    finding = house.workspace.ask(ShowJob("a")).summary.findings[0]
    assert (finding.problem, finding.code) == (Problem.POISON, "DIVIDE_BY_ZERO")
    assert finding.words.startswith("counts failed 3 times in a row at batch 0")
    assert kinds(house)[0] == "restart.poisoned"
    with pytest.raises(Conflict, match="is its first: there is no state to go on with"):
        house.workspace.plan(Resume("a", past_batch=True))
    assert house.workspace.plan(Resume("a", code=f"{STREAM}mended = True\n")).refusal is None


def test_a_driver_that_dies_in_the_middle_of_one_batch_again_and_again_is_not_begun_for_ever(house: House) -> None:
    house.begin("die", code=STREAM)
    strategy(house, Strategy.FIXED_DELAY, attempts=100, delay_ms=1)
    until(lambda: house.run().state is RunState.FAILED)
    *before, last = reversed(runs(house))
    assert [run.restart.batch.batch for run in before if run.restart and run.restart.batch] == [0] * (STUCK_AFTER - 1)
    assert last.restart is not None and last.restart.poison == STUCK_AFTER
    (finding,) = house.workspace.ask(ShowJob("a")).summary.findings
    assert finding.words.startswith("counts failed 10 times in a row at batch 0: the driver ended with exit code 134")
    for error_class, batch in ((EXCEEDED, 0), ("ValueError", None)):  # that of the script beside its queries says nothing of their batches
        assert last.exit is not None
        after = restarts.after(house.workspace.context, last, replace(last.exit, error_class=error_class), stopping=False)
        assert after is not None and (after.batch.batch if after.batch else None) == batch


def test_failures_at_other_batches_are_no_poison(house: House) -> None:
    house.begin("crash-on", code=STREAM)
    strategy(house, Strategy.FIXED_DELAY, attempts=4, delay_ms=1)
    until(lambda: house.run().state is RunState.FAILED)
    newest = house.run()
    assert newest.attempt == 4 and newest.restart is not None and newest.restart.poison == 0
    assert newest.restart.batch is not None and newest.restart.batch.batch == 4
    assert (newest.restart.batch.sources[0].amount, newest.restart.batch.sources[0].at_most) == (17, True)
    before = runs(house)[1].restart
    assert before is not None and before.batch is not None
    assert (before.batch.sources[0].amount, before.batch.sources[0].at_most) == (10, False)


def test_a_restart_that_is_refused_is_not_tried_again(house: House) -> None:
    run = waiting(house)
    house.workspace.layout.version_file(run.version).unlink()
    house.ahead_ms = HOUR_MS
    until(lambda: house.run().state is RunState.FAILED)
    decision = house.run().restart
    assert decision is not None and decision.why.startswith("its restart was refused: ")
    assert len(runs(house)) == 1 and kinds(house)[0] == "restart.refused"


def test_a_restart_that_something_away_keeps_back_is_tried_again_as_its_strategy_says(house: House) -> None:
    run = waiting(house)
    version = house.workspace.layout.version_file(run.version)
    aside = version.with_name("aside")
    version.rename(aside)
    version.symlink_to(version.name)  # as a disk that fails: it is there, and cannot be read
    house.ahead_ms = HOUR_MS
    until(lambda: (decision := house.run().restart) is not None and decision.attempt == 2)
    assert (house.run().state, kinds(house)[0]) == (RunState.RESTARTING, "restart.planned")
    version.unlink()
    aside.rename(version)
    house.reopen()
    do(house.workspace, RebuildCatalog())
    decision = house.run().restart
    assert house.run().state is RunState.RESTARTING
    assert decision is not None and decision.why.startswith("attempt 1 could not begin: ")
    house.ahead_ms = 3 * HOUR_MS
    until(lambda: house.run().attempt == 2)
    assert runs(house)[1].state is RunState.FAILED


def test_one_that_stays_away_ends_the_attempts(house: House) -> None:
    run = waiting(house)
    version = house.workspace.layout.version_file(run.version)
    version.unlink()
    version.symlink_to(version.name)
    for attempt in (2, 3):
        house.ahead_ms += HOUR_MS + 10_000
        until(lambda: (decision := house.run().restart) is not None and decision.attempt == attempt)  # noqa: B023  asked before the next one
    house.ahead_ms += HOUR_MS + 10_000
    until(lambda: house.run().state is RunState.FAILED)
    decision = house.run().restart
    assert decision is not None and decision.why.startswith("its restart was refused: ") and len(runs(house)) == 1


def test_a_job_that_fails_at_one_batch_at_each_time_of_its_schedule_is_stopped_until_somebody_resumes_it(house: House) -> None:
    house.begin("crash-once", code=STREAM)
    until(lambda: house.run().state is RunState.FAILED)
    do(house.workspace, SetSchedule("a", run_at="0 0 1 1 *"))
    times = Runs(house.workspace.context)
    for number in (2, 3):
        times.attend(JobName("a"), house.workspace.context.now_ms())
        until(lambda: house.run().state is RunState.FAILED)
        assert len(runs(house)) == number
    decision = house.run().restart
    assert decision is not None and decision.poison == 3
    times.attend(JobName("a"), house.workspace.context.now_ms())
    assert len(runs(house)) == 3 and kinds(house)[0] == "run.unbegun"
    findings = house.workspace.ask(ShowJob("a")).summary.findings
    assert [finding.problem for finding in findings] == [Problem.POISON, Problem.UNBEGUN]
    assert "a poison batch stopped a: counts failed 3 times in a row at batch 0" in findings[1].words
    do(house.workspace, Resume("a"))
    until(lambda: house.run().state is RunState.FAILED)
    times.attend(JobName("a"), house.workspace.context.now_ms())
    until(lambda: house.run().state is RunState.FAILED)
    decision = house.run().restart
    assert len(runs(house)) == 5 and decision is not None and decision.poison == 0


def test_refusals_of_the_verb(house: House) -> None:
    house.begin("wait")
    with pytest.raises(Invalid) as refused:
        strategy(house, Strategy.NONE, attempts=1)
    assert refused.value.code == "restarts.option"
    with pytest.raises(Invalid) as refused:
        strategy(house, Strategy.EXPONENTIAL_DELAY, initial_backoff_ms=10_000, max_backoff_ms=5_000)
    assert refused.value.code == "restarts.bounds"
