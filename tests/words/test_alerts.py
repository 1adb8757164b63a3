"""Rules in words, and their hysteresis: between the two thresholds nothing changes."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pipelines.domain.alert_rules import Reading, Rule, condition
from pipelines.domain.alerts import Alert, AlertState, advance
from pipelines.domain.errors import Invalid
from pipelines.domain.findings import Finding, Problem, Urgency
from pipelines.domain.ids import JobName
from pipelines.domain.observed import ObservedNow
from pipelines.domain.runs import RunState
from pipelines.domain.schedules import Schedule
from pipelines.domain.sources import Waiting
from pipelines.words import alerts
from pipelines.words.figures import ALERTABLE, EXPOSED, OF_ALERTS, OF_JOBS, Seen, metric_of
from tests.words.test_findings import summary

JOB = JobName("counts")
LAGS = Rule("lag", "event_time_lag_seconds > 5m", clear="1m", for_ms=60_000, clear_for_ms=60_000)


def seen(lag_ms: float | None, state: RunState = RunState.RUNNING) -> Seen:
    return Seen(summary(state=state, lag_ms=lag_ms), 0.0)


def passes(rule: Rule, *lags: float | None, every_ms: int = 30_000) -> list[str]:
    """Its state after each reading; an empty one where there is none."""
    alert: Alert | None = None
    states = []
    for place, lag_ms in enumerate(lags):
        alert = advance(rule, JOB, alert, alerts.reading(rule, seen(lag_ms)), place * every_ms)
        states.append(alert.state.value if alert else "")
        alert = None if alert and alert.state is AlertState.RESOLVED else alert
    return states


P, F, R = "pending", "firing", "resolved"


@pytest.mark.parametrize(
    ("lags_s", "states"),
    [
        ([400, 400, 400, 400], [P, P, F, F]),
        ([400, 100, 400, 400], [P, P, F, F]),
        ([400, 50, 400, 400], [P, "", P, P]),
        ([400, 400, 400, 200, 200, 200], [P, P, F, F, F, F]),
        ([400, 400, 400, 60, 60, 60, 60], [P, P, F, F, F, R, ""]),
        ([400, 400, 400, 60, 100, 60, 60], [P, P, F, F, F, F, F]),
        ([400, 400, 400, None, None, None], [P, P, F, F, F, F]),
        ([None, 300, 301], ["", "", P]),
    ],
)
def test_two_thresholds_and_two_times(lags_s: list[float | None], states: list[str]) -> None:
    assert passes(LAGS, *(None if lag is None else lag * 1_000 for lag in lags_s)) == states


@pytest.mark.parametrize("state", [RunState.STOPPED, RunState.FINISHED])
def test_of_a_job_that_has_ended_figures_are_over_but_those_that_last(state: RunState) -> None:
    ended = Seen(summary(state=state, lag_ms=900_000, last_savepoint_ms=0, last_progress_ms=0), 7_200_000.0, 7_200_000.0)
    begun_again = replace(ended, job=replace(ended.job, job=replace(ended.job.job, schedule=Schedule(run_at="0 * * * *")), lag_ms=None))
    lasting = ("up < 1", "savepoint_age_seconds > 1h", "best_before_seconds < 1h", "savepoints >= 0")
    for when in lasting:
        assert alerts.reading(Rule("r", when), ended).holds and alerts.reading(Rule("r", when), begun_again).holds, when
    for when in ("batch_age_seconds > 1h", "state_rows > 0"):
        assert alerts.reading(Rule("r", when), ended).is_over and alerts.reading(Rule("r", when), begun_again).holds, when
    assert alerts.reading(LAGS, ended).is_over and alerts.reading(LAGS, begun_again).is_over


def test_a_job_that_ended_at_a_poison_batch_has_failed() -> None:
    poison = Finding(JOB, Problem.POISON, Urgency.FAILED, "poison batch", "it failed at batch 4 3 times in a row")
    ended = Seen(replace(summary(state=RunState.FAILED), findings=(poison,)), 0.0)
    assert alerts.reading(Rule("failed", "failed"), ended).holds and alerts.reading(Rule("poison", "poison-batch"), ended).holds
    failed = replace(ended, job=replace(ended.job, findings=(replace(poison, problem=Problem.FAILED, title="failed"),)))
    assert alerts.reading(Rule("failed", "failed"), failed).holds and not alerts.reading(Rule("poison", "poison-batch"), failed).holds


def test_a_savepoint_without_an_end_is_over_and_one_that_nobody_was_asked_of_changes_nothing() -> None:
    near = Rule("near", "best_before_seconds < 1h")
    assert alerts.reading(near, Seen(summary(), 0.0, math.inf)).is_over
    unknown = alerts.reading(near, Seen(summary(), 0.0, None))
    assert not unknown.holds and not unknown.is_over
    assert alerts.reading(Rule("far", "best_before_seconds > 1h"), Seen(summary(), 0.0, math.inf)).words.startswith(
        "best_before_seconds is endless"
    )


@pytest.mark.parametrize("when", ["backlog_offsets > 1000", "tidemark_job_backlog_offsets > 1000"])
def test_a_backlog_has_a_threshold_for_each_unit(when: str) -> None:
    def reading(*waiting: Waiting) -> Reading:
        return alerts.reading(Rule("behind", when), Seen(summary(backlog=waiting), 0.0))

    many, few = Waiting("offsets", 1_001, None), Waiting("offsets", 10, None)
    assert reading(Waiting("files", 3, None), many).holds and reading(few).is_over
    assert reading(many).words == "backlog_offsets is 1,001; limit > 1,000"
    assert not reading().holds and not reading().is_over


def test_words() -> None:
    rule = Rule("lag", "event_time_lag_seconds > 5m", "1m", 60_000, 120_000, 3_600_000, ("oncall",))
    assert alerts.spelt(rule) == "event_time_lag_seconds > 5m for 1m; over at 1m for 2m; again every 1h; to oncall"
    assert alerts.spelt(Rule("f", "failed", off=True)) == "off (failed)"
    assert alerts.reading(LAGS, seen(312_000)).words == "event_time_lag_seconds is 5m 12s; limit > 5m 00s"
    assert alerts.reading(Rule("s", "state_bytes >= 1"), seen(0)).words.startswith("state_bytes is ")


def test_a_figure_may_have_the_name_that_it_has_among_the_metrics() -> None:
    named = Rule("lag", "tidemark_job_event_time_lag_seconds>5m")
    assert condition(named) == condition(Rule("lag", "event_time_lag_seconds > 5m"))
    assert alerts.metric(Rule("lag", "event_time_lag_seconds>5m")) == "tidemark_job_event_time_lag_seconds in /metrics"
    assert alerts.metric(Rule("f", "failed")) == alerts.metric(Rule("old", "batch_age_seconds > 1h")) == ""


def observing(*values: float, name: str = "checks.bad_rows", state: RunState = RunState.RUNNING) -> Seen:
    return Seen(summary(state=state, observed=tuple(ObservedNow(f"q{at}", name, value) for at, value in enumerate(values))), 0.0)


@pytest.mark.parametrize(
    ("when", "values", "holds"),
    [
        ("observed checks.bad_rows > 5", (6.0,), True),
        ("observed checks.bad_rows>5", (5.0,), False),
        ("tidemark_job_observed  checks.bad_rows >= 5", (5.0,), True),
        ("observed checks.bad_rows > 5", (1.0, 9.0), True),
        ("observed checks.bad_rows < 5", (1.0, 9.0), True),
        ("observed checks.other > 5", (9.0,), None),
        ("observed checks.bad_rows > 5", (), None),
    ],
)
def test_a_number_of_the_jobs_own_has_thresholds(when: str, values: tuple[float, ...], holds: bool | None) -> None:
    reading = alerts.reading(Rule("bad", when), observing(*values))
    assert (reading.holds, reading.is_over) == ((False, False) if holds is None else (holds, not holds))


def test_a_number_of_the_jobs_own_may_have_any_name_that_spark_gives() -> None:
    name = "checks.count(CASE WHEN (k >= 3) THEN 1 END)"
    rule = Rule("odd", f"observed {name} >= 2", clear="1")
    threshold = condition(rule)
    assert (threshold.observed, threshold.sign, threshold.limit, threshold.clear) == (name, ">=", 2.0, 1.0)
    assert alerts.reading(rule, observing(2.0, name=name)).words == f"observed {name} is 2; limit >= 2"
    assert alerts.metric(rule) == "tidemark_job_observed in /metrics"
    assert condition(Rule("slow", "observed checks.wait_seconds > 5m")).limit == 300.0
    assert alerts.reading(rule, observing(9.0, name=name, state=RunState.STOPPED)).is_over


@pytest.mark.parametrize("when", ["observed > 5", "observed checks.bad_rows", "observed checks.bad_rows > many", "observed  >= 5"])
def test_a_threshold_of_nothing_is_refused(when: str) -> None:
    with pytest.raises(Invalid) as refused:
        condition(Rule("bad", when))
    assert refused.value.code == "alert.when"


def test_every_figure_has_one_name() -> None:
    assert len(ALERTABLE) == len(OF_JOBS) + len(OF_ALERTS)
    for name, figure in ALERTABLE.items():
        value = figure.of(Seen(summary(lag_ms=5.0), 1_000.0, best_before_ms=3_000))
        assert value is None or isinstance(value, int | float), name
        assert (metric_of(name) == f"tidemark_job_{name}") is (name in EXPOSED) is (figure not in OF_ALERTS), name
    assert ALERTABLE["best_before_seconds"].of(Seen(summary(), 1_000.0, best_before_ms=3_000)) == 2.0
