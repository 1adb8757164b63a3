"""Rules in words, and their hysteresis: between the two thresholds nothing changes."""

from __future__ import annotations

import pytest

from pipelines.domain.alert_rules import Rule, condition
from pipelines.domain.alerts import Alert, AlertState, advance
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import JobName
from pipelines.domain.observed import ObservedNow
from pipelines.domain.runs import RunState
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


def test_of_a_job_that_was_ended_every_figure_is_over_but_that_it_is_not_up() -> None:
    assert alerts.reading(LAGS, seen(900_000, RunState.STOPPED)).is_over
    assert alerts.reading(Rule("down", "up < 1"), seen(None, RunState.STOPPED)).holds


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
