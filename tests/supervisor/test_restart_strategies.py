"""Restart strategies over time: each failure is decided from those before it, as the supervisor does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.errors import Invalid
from pipelines.domain.ids import QueryName
from pipelines.domain.restart_strategies import RestartStrategy, Strategy, changed
from pipelines.domain.restarts import FailedBatch, Failure, RestartDecision, decide, worth

HOUR_MS = 3_600_000
DRIVER_MS = 5_000
"""How long a driver takes to come up and fail."""


def life(
    strategy: RestartStrategy,
    ran_ms: list[int],
    *,
    chance: float = 0.5,
    ends: bool = False,
    error: str = "",
    batches: Sequence[int | None] | None = None,
) -> list[RestartDecision]:
    """The decisions on a job whose runs last so long each, until it is restarted no more; they fail with `error`, or with one of several
    that a blank stands between, in turn."""
    now_ms, attempt, backoff_ms = 1_000_000, 0, 0
    failures: list[Failure] = []
    decisions: list[RestartDecision] = []
    for index, lasted_ms in enumerate(ran_ms):
        now_ms += lasted_ms
        number, errors = batches[index] if batches else None, error.split(" ")
        batch = None if number is None else FailedBatch(QueryName("counts"), number)
        failures.insert(0, Failure(now_ms, lasted_ms, errors[index % len(errors)], attempt, backoff_ms, batch))
        decisions.append(decide(strategy, failures, ends=ends, chance=chance))
        at_ms = decisions[-1].at_ms
        if at_ms is None:
            break
        attempt, backoff_ms, now_ms = decisions[-1].attempt, decisions[-1].backoff_ms, at_ms
    return decisions


def delays(decisions: list[RestartDecision], ran_ms: list[int]) -> list[int]:
    """From each failure to its restart."""
    now_ms, waited = 1_000_000, []
    for decision, lasted_ms in zip(decisions, ran_ms, strict=False):
        now_ms += lasted_ms
        if decision.at_ms is not None:
            waited.append(decision.at_ms - now_ms)
            now_ms = decision.at_ms
    return waited


def test_exponential_delays_grow_to_the_longest_with_flinks_defaults() -> None:
    ran_ms = [DRIVER_MS] * 14
    decisions = life(RestartStrategy(Strategy.EXPONENTIAL_DELAY), ran_ms)
    assert delays(decisions, ran_ms)[:5] == [1_000, 1_500, 2_250, 3_375, 5_062]
    assert delays(decisions, ran_ms)[-3:] == [60_000] * 3
    assert [decision.attempt for decision in decisions] == list(range(1, 15))


def test_an_hour_without_a_failure_begins_the_delays_anew() -> None:
    ran_ms = [DRIVER_MS, DRIVER_MS, HOUR_MS, HOUR_MS - 1]
    decisions = life(RestartStrategy(Strategy.EXPONENTIAL_DELAY), ran_ms)
    assert delays(decisions, ran_ms) == [1_000, 1_500, 1_000, 1_500]
    assert [decision.attempt for decision in decisions] == [1, 2, 1, 2]


def test_attempts_of_exponential_delay_count_in_a_row() -> None:
    strategy = RestartStrategy(Strategy.EXPONENTIAL_DELAY, attempts=2)
    assert [decision.at_ms is None for decision in life(strategy, [DRIVER_MS] * 5)] == [False, False, True]
    assert len(life(strategy, [DRIVER_MS, HOUR_MS] * 10)) == 20


@given(
    initial_ms=st.integers(1, 10_000),
    more_ms=st.integers(0, 100_000),
    multiplier=st.floats(1.01, 10),
    jitter=st.floats(0, 1),
    chance=st.floats(0, 1),
    ran_ms=st.lists(st.integers(0, 2 * HOUR_MS), min_size=1, max_size=30),
)
def test_no_exponential_delay_is_out_of_its_bounds(
    initial_ms: int, more_ms: int, multiplier: float, jitter: float, chance: float, ran_ms: list[int]
) -> None:
    longest_ms = initial_ms + more_ms
    options = {"initial_backoff_ms": initial_ms, "max_backoff_ms": longest_ms, "backoff_multiplier": multiplier, "jitter_factor": jitter}
    strategy = changed(RestartStrategy(), Strategy.EXPONENTIAL_DELAY, options)
    decisions = life(strategy, ran_ms, chance=chance)
    assert len(decisions) == len(ran_ms), "it never gives up"
    for decision, delay_ms, lasted_ms in zip(decisions, delays(decisions, ran_ms), ran_ms, strict=True):
        assert initial_ms <= decision.backoff_ms <= longest_ms
        assert decision.backoff_ms * (1 - jitter) - 1 <= delay_ms <= min(decision.backoff_ms * (1 + jitter) + 1, longest_ms)
        if lasted_ms >= HOUR_MS:
            assert (decision.attempt, decision.backoff_ms) == (1, initial_ms)


@given(
    attempts=st.integers(1, 20), delay_ms=st.integers(1, HOUR_MS), ran_ms=st.lists(st.integers(0, 5 * HOUR_MS), min_size=21, max_size=25)
)
def test_fixed_delay_restarts_so_often_whatever_lies_between(attempts: int, delay_ms: int, ran_ms: list[int]) -> None:
    decisions = life(RestartStrategy(Strategy.FIXED_DELAY, attempts=attempts, delay_ms=delay_ms), ran_ms)
    assert delays(decisions, ran_ms) == [delay_ms] * attempts
    assert (len(decisions), decisions[-1].at_ms) == (attempts + 1, None)


def test_fixed_delay_is_once_after_a_second_unless_said() -> None:
    decisions = life(RestartStrategy(Strategy.FIXED_DELAY), [DRIVER_MS] * 3)
    assert delays(decisions, [DRIVER_MS] * 3) == [1_000]
    assert decisions[-1].why == "it was restarted once"


@given(most=st.integers(1, 5), ran_ms=st.lists(st.integers(0, 90_000), min_size=1, max_size=40))
def test_failure_rate_gives_up_exactly_where_an_interval_has_more(most: int, ran_ms: list[int]) -> None:
    strategy = RestartStrategy(Strategy.FAILURE_RATE, failures=most, interval_ms=60_000, delay_ms=500)
    decisions = life(strategy, ran_ms)
    at_ms, failed_ms = 1_000_000, []
    for decision, lasted_ms in zip(decisions, ran_ms, strict=False):
        at_ms += lasted_ms
        failed_ms.append(at_ms)
        assert (decision.at_ms is None) is (sum(at_ms - earlier <= 60_000 for earlier in failed_ms) > most)
        at_ms += 500
    assert len(decisions) == len(ran_ms) or decisions[-1].at_ms is None


def test_what_is_usual() -> None:
    assert life(RestartStrategy(), [DRIVER_MS])[0].at_ms is not None
    assert life(RestartStrategy(), [DRIVER_MS], ends=True)[0].at_ms is None
    assert life(RestartStrategy(Strategy.NONE), [DRIVER_MS])[0].why == "its restart strategy is none"


@pytest.mark.parametrize(
    ("batches", "error", "after", "poison"),
    [
        ([7, 7, 7], "DIVIDE_BY_ZERO", None, 3),
        ([7, 7], "DIVIDE_BY_ZERO", 2, 2),
        ([6, 7, 7], "DIVIDE_BY_ZERO", None, 0),
        ([7, 7, None, 7], "DIVIDE_BY_ZERO", None, 3),
        ([7] * 9, "", None, 0),
        ([7] * 10, "", None, 10),
        ([7] * 9, "DIVIDE_BY_ZERO CAST_INVALID_INPUT", None, 0),
        ([7] * 10, "DIVIDE_BY_ZERO CAST_INVALID_INPUT ", None, 10),
        ([7] * 11, "", 11, 11),
        ([6, *[7] * 9], "", None, 0),
    ],
    ids=[
        "three times",
        "twice where that is enough",
        "another batch before",
        "a failure at no batch between",
        "drivers are killed",
        "more often than anybody kills drivers",
        "with other errors",
        "again and again with other errors, and killed",
        "as often as was asked for, where that is more",
        "killed in another batch before",
    ],
)
def test_poison(batches: list[int | None], error: str, after: int | None, poison: int) -> None:
    strategy = RestartStrategy(poison_after=after)
    decision = life(strategy, [DRIVER_MS] * len(batches), error=error, batches=batches)[-1]
    assert (decision.poison, decision.at_ms is None) == (poison, poison > 0)
    assert decision.batch is not None and decision.batch.batch == 7


@pytest.mark.parametrize(
    ("error", "ran", "is_worth"),
    [
        ("DIVIDE_BY_ZERO", True, True),
        ("", True, True),
        ("SyntaxError", False, False),
        ("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", True, False),
        ("query.renamed", True, False),
        ("checkpoint.leased", True, True),
        ("checkpoint.no_lease", True, True),
        ("home.away", True, True),
        ("secret.missing", True, True),
        ("secret.missing", False, False),
        ("storage.unreachable", True, True),
    ],
)
def test_what_is_worth_a_restart(error: str, ran: bool, is_worth: bool) -> None:
    assert (worth(error, ran=ran) == "") is is_worth


def test_changes_of_a_strategy() -> None:
    fixed = changed(RestartStrategy(), Strategy.FIXED_DELAY, {"attempts": 3, "poison_after": 5})
    assert fixed == RestartStrategy(Strategy.FIXED_DELAY, attempts=3, poison_after=5)
    assert changed(fixed, None, {"delay_ms": 10_000}) == RestartStrategy(Strategy.FIXED_DELAY, attempts=3, delay_ms=10_000, poison_after=5)
    assert changed(fixed, None, {"attempts": 0}) == RestartStrategy(Strategy.FIXED_DELAY, poison_after=5)
    assert changed(fixed, Strategy.FAILURE_RATE, {}) == RestartStrategy(Strategy.FAILURE_RATE, poison_after=5)
    assert changed(RestartStrategy(), Strategy.EXPONENTIAL_DELAY, {"jitter_factor": 0.0}).jitter_factor == 0
    assert str(changed(fixed, None, {"delay_ms": 10_000})) == "fixed-delay --attempts 3 --delay 10s --poison-after 5"


@pytest.mark.parametrize(
    "given_options", [{"backoff_multiplier": 1.0}, {"backoff_multiplier": float("nan")}, {"jitter_factor": 1.1}, {"max_backoff_ms": 500}]
)
def test_bounds(given_options: dict[str, int | float]) -> None:
    with pytest.raises(Invalid) as refused:
        changed(RestartStrategy(), Strategy.EXPONENTIAL_DELAY, given_options)
    assert refused.value.code == "restarts.bounds"
