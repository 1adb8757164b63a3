"""A job that catches up says how far it is behind, its speed, and when it will be there; and what nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.domain.catching_up import Pace
from pipelines.domain.findings import Problem
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.jobs import JobSummary, Origin
from pipelines.domain.lockstep import Lead
from pipelines.domain.runs import RunState
from pipelines.domain.sources import Waiting
from pipelines.words import catching_up
from pipelines.words.findings import of_job
from tests.faces import NOW_MS
from tests.words.test_findings import summary

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
FAR = 130.0 * MINUTE_MS
SHRINKS = (Waiting("rows", 1_200_000, -1_200_000 / 360),)


def what_if(left: int | None) -> JobSummary:
    """A job that ends at a batch of its leader's."""
    known = summary(gap_ms=2_000.0, input_rate=400.0, lag_ms=FAR, batches_left=left)
    return replace(known, job=replace(known.job, lead=Lead(JobName("leader"), "/checkpoints", until={"counts": 33})))


@pytest.mark.parametrize(
    ("changes", "line", "pace"),
    [
        (
            {"lag_ms": FAR, "backlog": SHRINKS, "input_rate": 40_000.0},
            "2h 10m behind in event time, 1.2M rows, 40.0k rows/s, there in about 6m 00s",
            Pace.BACKLOG,
        ),
        (
            {"lag_ms": FAR, "lag_change": -20.0, "input_rate": 40_000.0},
            "2h 10m behind in event time, backlog not known, 40.0k rows/s, there in about 6m 30s, by event time",
            Pace.EVENT_TIME,
        ),
        (
            {"lag_ms": FAR, "lag_change": -20.0, "backlog": (Waiting("files", 12, 0.0),), "input_rate": None},
            "2h 10m behind in event time, 12 files, speed not known, there in about 6m 30s, by event time",
            Pace.EVENT_TIME,
        ),
        (
            {"lag_ms": None, "backlog": SHRINKS, "input_rate": 40_000.0},
            "no event time, 1.2M rows, 40.0k rows/s, there in about 6m 00s",
            Pace.BACKLOG,
        ),
    ],
)
def test_what_is_said(changes: dict[str, Any], line: str, pace: Pace) -> None:
    catching = catching_up.of_job(summary(**changes))
    assert catching is not None and (catching_up.described(catching), catching.pace) == (line, pace)


@pytest.mark.parametrize(
    "changes",
    [
        {"lag_ms": 9_000.0, "backlog": SHRINKS},
        {"lag_ms": None, "backlog": (Waiting("rows", 1_000, -100.0),)},
        {"lag_ms": FAR},
        {"lag_ms": FAR, "lag_change": 1.0},
        {"lag_ms": FAR, "lag_change": -0.05},
        {"lag_ms": FAR, "lag_change": -20.0, "backlog": (Waiting("rows", 1_000, 100.0),)},
        {"lag_ms": FAR, "lag_change": -20.0, "idle_since_ms": 1},
        {"lag_ms": FAR, "lag_change": -20.0, "state": RunState.FAILED},
    ],
)
def test_who_is_not_behind_or_comes_no_nearer_says_nothing(changes: dict[str, Any]) -> None:
    assert catching_up.of_job(summary(**changes)) is None


def fork(**changes: Any) -> JobSummary:
    known = summary(**{"gap_ms": 2_000.0, "input_rate": 400.0, **changes})
    return replace(known, job=replace(known.job, origin=Origin(SavepointId("sp-1"), JobName("parent"))))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"lag_ms": 9_000.0, "backlog": (Waiting("rows", 1_200, -100.0),)},
            "9.00 s behind in event time, 1.2k rows, 400 rows/s, there in about 12 s",
        ),
        (
            {"lag_ms": 9_000.0, "backlog": (Waiting("rows", 1_200, 100.0),)},
            "9.00 s behind in event time, 1.2k rows, 400 rows/s, when it will be there cannot be told at this pace",
        ),
        (
            {"lag_ms": 9_000.0},
            "9.00 s behind in event time, backlog not known, 400 rows/s, when it will be there cannot be told at this pace",
        ),
        ({"lag_ms": 3_000.0}, ""),
        ({"lag_ms": 9_000.0, "backlog": (Waiting("rows", 0, 0.0),)}, ""),
        ({"lag_ms": 9_000.0, "idle_since_ms": 1}, ""),
        ({"lag_ms": 9_000.0, "state": RunState.STOPPED}, ""),
    ],
)
def test_a_fork_says_it_below_its_limit_too(changes: dict[str, Any], line: str) -> None:
    """With nothing to attend to; a job that is no fork says nothing."""
    catching = catching_up.shown(fork(**changes))
    assert (catching_up.described(catching) if catching else "") == line
    assert Problem.CATCHING_UP not in {finding.problem for finding in of_job(fork(**changes), NOW_MS)}
    assert catching_up.shown(summary(**changes)) is None


def test_a_job_that_ends_at_a_batch_counts_batches() -> None:
    catching = catching_up.of_job(what_if(30))
    assert catching is not None and (catching.batches, catching.left_ms, catching.pace) == (30, 60_000, Pace.BATCHES)
    assert catching_up.described(catching) == "30 batches left to its end, 400 rows/s, there in about 1m 00s"
    assert catching_up.of_job(what_if(0)) is None, "it is there"
    assert catching_up.of_job(what_if(None)) is None, "no batch yet"
