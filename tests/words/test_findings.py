"""What needs attention in a job, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.domain.findings import Problem, Urgency
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import Exit, RunState
from pipelines.verbs.jobs import ListJobs
from pipelines.words.findings import lag_limit_ms, of_job, quiet_limit_ms
from tests.faces import NOW_MS, FakeFace

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def summary(**changes: Any) -> JobSummary:
    """The sample's running job, changed."""
    return replace(next(job for job in FakeFace.sample().ask(ListJobs()) if job.state is RunState.RUNNING), **changes)


def old(**changes: Any) -> JobSummary:
    """The running job, started three days ago and saved just now, changed."""
    known = summary(last_savepoint_ms=NOW_MS)
    assert known.run is not None
    return replace(known, **{"run": replace(known.run, started_ms=NOW_MS - 3 * DAY_MS), **changes})


def attached(**changes: Any) -> JobSummary:
    known = summary()
    return replace(known, job=replace(known.job, attached=True), state=RunState.WATCHED, **changes)


@pytest.mark.parametrize(
    ("job", "titles"),
    [
        (summary(), []),
        (summary(lag_ms=252_000.0), ["lagging"]),
        (summary(lag_ms=252_000.0, gap_ms=5 * MINUTE_MS), []),
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
        (old(checkpoint_bytes=5_000_000_000, checkpoint_bytes_before=2_000_000_000), ["checkpoint growing"]),
        (old(checkpoint_bytes=5_000_000, checkpoint_bytes_before=1_000_000), []),
        (old(last_savepoint_ms=None), ["no savepoint"]),
        (old(last_savepoint_ms=NOW_MS - 2 * DAY_MS), ["no savepoint"]),
        (summary(last_savepoint_ms=None), []),
        (old(last_savepoint_ms=None, recent_restarts=3, lag_ms=252_000.0), ["lagging", "restarting often", "no savepoint"]),
        (attached(last_progress_ms=NOW_MS - 5 * MINUTE_MS), []),
        (attached(last_progress_ms=NOW_MS - HOUR_MS), ["no progress"]),
        (attached(last_progress_ms=NOW_MS - HOUR_MS, gap_ms=10 * MINUTE_MS), []),
    ],
)
def test_what_needs_attention(job: JobSummary, titles: list[str]) -> None:
    assert [finding.title for finding in of_job(job, NOW_MS)] == titles


def test_lag_is_said_with_the_rate() -> None:
    (finding,) = of_job(summary(lag_ms=252_000.0, input_rate=100.0, processed_rate=79.0), NOW_MS)
    assert finding.words == "event-time lag 4m 12s · processed rate 21 % below input"


def test_silence_is_said_with_what_is_usual() -> None:
    (finding,) = of_job(summary(last_progress_ms=NOW_MS - HOUR_MS, gap_ms=10_000.0), NOW_MS)
    assert (finding.words, finding.since_ms) == ("no batch has ended since; usually one every 10.0 s", NOW_MS - HOUR_MS)


def test_a_failure_is_the_most_urgent_and_names_its_class() -> None:
    failed = summary(state=RunState.FAILED)
    assert failed.run is not None
    ended = Exit("failed", 1, "OOM", "  no memory\nat line 1", NOW_MS - 5)
    (finding,) = of_job(replace(failed, run=replace(failed.run, exit=ended, ended_ms=None)), NOW_MS)
    assert (finding.problem, finding.urgency, finding.code) == (Problem.FAILED, Urgency.FAILED, "OOM")
    assert (finding.words, finding.since_ms) == ("no memory", NOW_MS - 5)


def test_limits_are_learnt_from_the_job() -> None:
    assert quiet_limit_ms(summary(gap_ms=None, batch_ms_p99=None)) == 2 * MINUTE_MS
    assert quiet_limit_ms(summary(gap_ms=3_600_000.0, batch_ms_p99=1_000.0)) == 5 * HOUR_MS + 5_000
    assert lag_limit_ms(summary(gap_ms=None)) == MINUTE_MS
