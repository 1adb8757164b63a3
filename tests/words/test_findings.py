"""What needs attention in a job, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.domain.findings import Problem, Urgency
from pipelines.domain.ids import SavepointId
from pipelines.domain.job_limits import JobLimits
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.schedules import Attempt, Outcome
from pipelines.domain.sources import Waiting
from pipelines.domain.triggers import Trigger, TriggerKind
from pipelines.verbs.jobs import ListJobs
from pipelines.words import backlog, limits
from pipelines.words.findings import of_job
from tests.faces import NOW_MS, FakeFace

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def summary(**changes: Any) -> JobSummary:
    """The sample's running job without a backlog, changed."""
    running = next(job for job in FakeFace.sample().ask(ListJobs()) if job.state is RunState.RUNNING)
    return replace(running, **{"backlog": (), **changes})


def old(**changes: Any) -> JobSummary:
    """The running job, started three days ago and saved just now, changed."""
    known = summary(last_savepoint_ms=NOW_MS)
    assert known.run is not None
    return replace(known, **{"run": replace(known.run, started_ms=NOW_MS - 3 * DAY_MS), **changes})


def restarted(**changes: Any) -> JobSummary:
    """The running job on its second restart in a row, five seconds ago; its last batch is older."""
    known = summary(**{"last_progress_ms": NOW_MS - 20_000, **changes})
    assert known.run is not None
    began_ms = NOW_MS - 5_000
    return replace(known, run=replace(known.run, attempt=2, created_ms=began_ms, started_ms=began_ms))


def limited(own: JobLimits, **changes: Any) -> JobSummary:
    """The old job with limits of its own, changed."""
    known = old(**changes)
    return replace(known, job=replace(known.job, limits=own))


def attached(**changes: Any) -> JobSummary:
    known = summary()
    return replace(known, job=replace(known.job, attached=True), state=RunState.WATCHED, **changes)


@pytest.mark.parametrize(
    ("job", "titles"),
    [
        (summary(), []),
        (summary(lag_ms=252_000.0), ["lagging"]),
        (summary(lag_ms=252_000.0, gap_ms=5 * MINUTE_MS), []),
        (summary(lag_ms=252_000.0, backlog=(Waiting("rows", 60_000, -500.0),)), ["catching up"]),
        (summary(lag_ms=252_000.0, backlog=(Waiting("rows", 60_000, 500.0),)), ["falling behind"]),
        (summary(lag_ms=252_000.0, lag_change=-3.0), ["catching up"]),
        (summary(lag_ms=252_000.0, lag_change=0.0), ["lagging"]),
        (summary(lag_ms=252_000.0, lag_change=0.85), ["falling behind"]),
        (summary(lag_ms=252_000.0, lag_change=0.85, backlog=(Waiting("rows", 60_000, 0.0),)), ["lagging"]),
        (summary(lag_ms=252_000.0, lag_change=0.001), ["lagging"]),
        (summary(lag_ms=252_000.0, lag_change=-3.0, backlog=(Waiting("rows", 60_000, 500.0),)), ["falling behind"]),
        (summary(lag_ms=9_000.0, lag_change=-3.0), []),
        (summary(lag_ms=252_000.0, backlog=(Waiting("rows", 60_000, None),)), ["lagging"]),
        (summary(lag_ms=None, backlog=(Waiting("files", 300, 3.0),)), ["falling behind"]),
        (summary(lag_ms=None, backlog=(Waiting("files", 30, 3.0),)), []),
        (summary(lag_ms=None, backlog=(Waiting("files", 300, -3.0),)), ["catching up"]),
        (summary(lag_ms=None, backlog=(Waiting("files", 30, -3.0),)), []),
        (summary(lag_ms=9_000.0, input_rate=100.0, backlog=(Waiting("rows", 60_000, 10.0),)), ["falling behind"]),
        (summary(lag_ms=9_000.0, input_rate=1_000.0, backlog=(Waiting("rows", 1_000, 10.0),)), []),
        (summary(lag_ms=None, input_rate=None, backlog=(Waiting("rows", 60_000, 10.0),)), []),
        (summary(lag_ms=None, backlog=(Waiting("offsets", 300, 3.0),)), []),
        (summary(last_progress_ms=NOW_MS - 600_000), ["no progress"]),
        (summary(last_progress_ms=NOW_MS - 600_000, lag_ms=600_000.0), ["no progress"]),
        (summary(last_progress_ms=NOW_MS - 600_000, gap_ms=4 * MINUTE_MS), []),
        (summary(last_progress_ms=NOW_MS - 600_000, idle_since_ms=NOW_MS - 600_000), []),
        (summary(input_rate=100.0, processed_rate=50.0, batch_ms_p50=9_000.0), ["falling behind"]),
        (summary(state=RunState.STARTING), ["still starting"]),
        (summary(state=RunState.STOPPED), []),
        (summary(queries=0, last_progress_ms=None), []),
        (old(), []),
        (old(recent_restarts=3), ["restarting often"]),
        (restarted(), ["restarted"]),
        (restarted(state=RunState.STARTING), ["restarted"]),
        (restarted(recent_restarts=3), ["restarting often"]),
        (restarted(last_progress_ms=NOW_MS), []),
        (restarted(idle_since_ms=NOW_MS - 9_000), []),
        (old(checkpoint_bytes=5_000_000_000, checkpoint_bytes_before=2_000_000_000), ["checkpoint growing"]),
        (old(checkpoint_bytes=5_000_000, checkpoint_bytes_before=1_000_000), []),
        (limited(JobLimits(growth_bytes=4_000_000), checkpoint_bytes=5_000_000, checkpoint_bytes_before=1_000_000), ["checkpoint growing"]),
        (limited(JobLimits(growth_bytes=4 * 10**9), checkpoint_bytes=5 * 10**9, checkpoint_bytes_before=2 * 10**9), []),
        (old(last_savepoint_ms=None), ["no savepoint"]),
        (old(last_savepoint_ms=NOW_MS - 2 * DAY_MS), ["savepoint too old"]),
        (summary(last_savepoint_ms=None), []),
        (old(last_savepoint_ms=None, recent_restarts=3, lag_ms=252_000.0), ["lagging", "restarting often", "no savepoint"]),
        (attached(last_progress_ms=NOW_MS - 5 * MINUTE_MS), []),
        (attached(last_progress_ms=NOW_MS - HOUR_MS), ["no progress"]),
        (attached(last_progress_ms=NOW_MS - HOUR_MS, gap_ms=10 * MINUTE_MS), []),
        (attached(lag_ms=None, watermark_ms=NOW_MS - 50 * MINUTE_MS), []),
        (attached(lag_ms=None, watermark_ms=NOW_MS - 2 * HOUR_MS), ["lagging"]),
        (attached(lag_ms=None, watermark_ms=NOW_MS - 2 * HOUR_MS, gap_ms=2.0 * HOUR_MS), []),
    ],
)
def test_what_needs_attention(job: JobSummary, titles: list[str]) -> None:
    assert [finding.title for finding in of_job(job, NOW_MS)] == titles


def test_lag_is_said_with_the_rate() -> None:
    (finding,) = of_job(summary(lag_ms=252_000.0, input_rate=100.0, processed_rate=79.0), NOW_MS)
    assert finding.words == "event-time lag 4m 12s · processed rate 21 % below input; limit 1m 01s"


def test_whether_it_is_caught_up_is_said() -> None:
    (catching,) = of_job(summary(lag_ms=252_000.0, backlog=(Waiting("rows", 60_000, -500.0),)), NOW_MS)
    assert (catching.urgency, catching.words) == (
        Urgency.NOTICE,
        "4m 12s behind in event time, 60.0k rows, 120 rows/s, there in about 2m 00s",
    )
    (falling,) = of_job(summary(lag_ms=252_000.0, backlog=(Waiting("rows", 60_000, 500.0),)), NOW_MS)
    assert falling.words.startswith("event-time lag 4m 12s · its backlog is growing by 500 rows/s; limit ")
    (falling,) = of_job(summary(lag_ms=252_000.0, lag_change=0.85), NOW_MS)
    assert falling.words.startswith("event-time lag 4m 12s · it grows by 51.0 s a minute; limit ")


def test_silence_is_said_with_what_is_usual() -> None:
    (finding,) = of_job(old(last_progress_ms=NOW_MS - HOUR_MS, gap_ms=10_000.0), NOW_MS)
    assert (finding.words, finding.since_ms) == ("no batch has ended for 1h 00m; usually one every 10.0 s; limit 2m 04s", NOW_MS - HOUR_MS)


def test_silence_of_a_job_that_was_stopped_begins_with_its_run() -> None:
    resumed = summary(last_progress_ms=NOW_MS - HOUR_MS, gap_ms=10_000.0)
    assert resumed.run is not None
    assert of_job(replace(resumed, run=replace(resumed.run, started_ms=NOW_MS - MINUTE_MS)), NOW_MS) == []


def test_a_failure_is_the_most_urgent_and_names_its_class() -> None:
    failed = summary(state=RunState.FAILED)
    assert failed.run is not None
    ended = Exit("failed", 1, "OOM", "  no memory\nat line 1", NOW_MS - 5)
    (finding,) = of_job(replace(failed, run=replace(failed.run, exit=ended, ended_ms=None)), NOW_MS)
    assert (finding.problem, finding.urgency, finding.code) == (Problem.FAILED, Urgency.FAILED, "OOM")
    assert (finding.words, finding.since_ms) == ("no memory", NOW_MS - 5)


def test_limits_are_learnt_from_the_job() -> None:
    assert limits.quiet_ms(summary(gap_ms=None, batch_ms_p99=None)) == 2 * MINUTE_MS
    assert limits.quiet_ms(summary(gap_ms=3_600_000.0, batch_ms_p99=1_000.0)) == 5 * HOUR_MS + 5_000
    assert limits.lag_ms(summary(gap_ms=None)) == MINUTE_MS


def every(minutes: int) -> Trigger:
    return Trigger(TriggerKind.PROCESSING_TIME, minutes * MINUTE_MS)


def test_a_trigger_that_is_known_is_not_learnt() -> None:
    hourly = {"gap_ms": 10_000.0, "trigger": every(60), "batch_ms_p99": None}
    assert of_job(old(last_progress_ms=NOW_MS - 4 * HOUR_MS, **hourly), NOW_MS) == []
    (finding,) = of_job(old(last_progress_ms=NOW_MS - 6 * HOUR_MS, **hourly), NOW_MS)
    assert finding.words == "no batch has ended for 6h 00m; its trigger is every 1h 00m; limit 5h 00m"
    as_fast = summary(gap_ms=3_600_000.0, trigger=every(0), batch_ms_p99=None)
    assert limits.quiet_ms(as_fast) == 5 * HOUR_MS, "without an interval the usual gap is learnt"


OWN = JobLimits(quiet_ms=20 * MINUTE_MS, lag_ms=10 * MINUTE_MS, starting_ms=HOUR_MS, unsaved_ms=9 * DAY_MS, restarts=5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"last_progress_ms": NOW_MS - 600_000}, ""),
        ({"last_progress_ms": NOW_MS - HOUR_MS}, "limit 20m 00s, set for this job"),
        ({"lag_ms": 500_000.0}, ""),
        ({"lag_ms": 700_000.0}, "limit 10m 00s, set for this job"),
        ({"recent_restarts": 4}, ""),
        ({"recent_restarts": 5}, "limit 5, set for this job"),
        ({"last_savepoint_ms": None}, ""),
        ({"state": RunState.STARTING}, ""),
    ],
)
def test_a_job_has_limits_of_its_own(changes: dict[str, Any], words: str) -> None:
    known = old(**changes)
    findings = of_job(replace(known, job=replace(known.job, limits=OWN)), NOW_MS)
    assert [finding.words.partition("; ")[2].rpartition("; ")[2] or finding.words for finding in findings] == ([words] if words else [])


def test_what_a_schedule_came_to_is_known() -> None:
    def with_last(outcome: Outcome, **changes: Any) -> list[Problem]:
        known = old(**changes)
        last = Attempt(NOW_MS - HOUR_MS, NOW_MS - HOUR_MS, outcome, message="the disk is full")
        return [finding.problem for finding in of_job(replace(known, job=replace(known.job, scheduled=last)), NOW_MS)]

    assert with_last(Outcome.FAILED) == [Problem.SCHEDULE]
    assert with_last(Outcome.FAILED, last_savepoint_ms=None) == [Problem.SCHEDULE, Problem.UNSAVED]
    assert with_last(Outcome.UNCHANGED, last_savepoint_ms=NOW_MS - 30 * DAY_MS) == [], "that savepoint is as good as a new one"
    assert with_last(Outcome.TAKEN, last_savepoint_ms=NOW_MS - 30 * DAY_MS) == [Problem.UNSAVED]


def test_a_proof_that_failed_needs_attention_whether_the_job_runs_or_not() -> None:
    last = Attempt(NOW_MS - HOUR_MS, NOW_MS - HOUR_MS, Outcome.FAILED, SavepointId("sp-1"), "proof.damage", "state/0: has 4 rows")
    for state in (RunState.RUNNING, RunState.STOPPED):
        known = old(state=state)
        (finding,) = of_job(replace(known, job=replace(known.job, proved=last)), NOW_MS)
        assert (finding.problem, finding.code, finding.words) == (Problem.UNPROVED, "proof.damage", "sp-1: state/0: has 4 rows")
        open_question = replace(last, outcome=Outcome.OPEN)
        assert of_job(replace(known, job=replace(known.job, proved=open_question)), NOW_MS) == []


def test_a_batch_by_its_trigger() -> None:
    assert backlog.share(summary(batch_ms_p50=80_000.0, gap_ms=90_000.0, trigger=every(1))) == "133 % of the trigger's 1m 00s"
    assert backlog.share(summary(batch_ms_p50=30_000.0, gap_ms=40_000.0, trigger=None)) == "75 % of their time"
    assert backlog.share(summary(batch_ms_p50=80_000.0, gap_ms=60_000.0, trigger=every(0))) == "all of their time"
    real_time = Trigger(TriggerKind.REAL_TIME, 300_000)
    assert summary(batch_ms_p50=300_000.0, trigger=real_time).busy is None, "its batches always fill their time"
