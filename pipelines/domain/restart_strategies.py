"""Restart strategies: how a job whose driver failed begins again by itself.

The strategies with their options, meanings and defaults are Flink's (`restart-strategy.type`, documented under "Task Failure Recovery";
`RestartStrategyOptions` of Flink 1.19, whose FLINK-33736 set the defaults of exponential-delay):

- `none`: the job fails.
- `fixed-delay`: at most `attempts` (1) restarts, `delay` (1 s) after each failure. Attempts count until somebody begins the job.
- `exponential-delay`: after `initial-backoff` (1 s), then each time `backoff-multiplier` (1.5) times later, at most `max-backoff` (1 min);
  more or less by up to `jitter-factor` (0.1) of it. Without a failure for `reset-backoff-threshold` (1 h) it begins anew. At most
  `attempts` in a row (Flink's `attempts-before-reset-backoff`, without end).
- `failure-rate`: `delay` (1 s) after each failure, as long as no more than `max-failures-per-interval` (1) restarts fall into
  `failure-rate-interval` (1 min).

`usual` is Tidemark's: exponential-delay, and none for a job whose queries all end by themselves.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from pipelines.domain.bounds import Count, Rate
from pipelines.domain.errors import Invalid
from pipelines.domain.moments import LONGEST_MS, spelt_duration

MOST_ATTEMPTS = 1_000_000
MOST_MULTIPLIER = 100.0


class Strategy(enum.StrEnum):
    """Flink's names, and `usual`: what Tidemark does where nobody chose."""

    USUAL = "usual"
    NONE = "none"
    FIXED_DELAY = "fixed-delay"
    EXPONENTIAL_DELAY = "exponential-delay"
    FAILURE_RATE = "failure-rate"


@dataclass(frozen=True)
class RestartStrategy:
    """A strategy with its options; None is the default. Times are ms."""

    strategy: Strategy = Strategy.USUAL
    attempts: Count | None = None
    delay_ms: Count | None = None
    initial_backoff_ms: Count | None = None
    max_backoff_ms: Count | None = None
    backoff_multiplier: Rate | None = None
    reset_backoff_ms: Count | None = None
    jitter_factor: Rate | None = None
    failures: Count | None = None
    interval_ms: Count | None = None
    poison_after: Count | None = None

    def __str__(self) -> str:
        """As its command says it: `fixed-delay --attempts 3 --delay 10s`."""
        options = ((flag(name), value, name) for name, value in vars(self).items() if name != "strategy" and value is not None)
        return " ".join(
            [
                self.strategy.value,
                *(f"{word} {spelt_duration(int(value)) if name.endswith('_ms') else value}" for word, value, name in options),
            ]
        )

    def chosen(self, *, ends: bool) -> Strategy:
        """The strategy of a job whose queries all end by themselves, or not."""
        if self.strategy is not Strategy.USUAL:
            return self.strategy
        return Strategy.NONE if ends else Strategy.EXPONENTIAL_DELAY


_EXPONENTIAL = {"attempts", "initial_backoff_ms", "max_backoff_ms", "backoff_multiplier", "reset_backoff_ms", "jitter_factor"}
OPTIONS: dict[Strategy, set[str]] = {
    Strategy.USUAL: set(),
    Strategy.NONE: set(),
    Strategy.FIXED_DELAY: {"attempts", "delay_ms"},
    Strategy.EXPONENTIAL_DELAY: _EXPONENTIAL,
    Strategy.FAILURE_RATE: {"failures", "interval_ms", "delay_ms"},
}
"""The options that each strategy has."""


def changed(before: RestartStrategy, strategy: Strategy | None, given: dict[str, int | float]) -> RestartStrategy:
    """`before` with what is given: another strategy begins with its defaults, 0 as a time or a count brings the default back.

    Raises Invalid (`restarts.option`, `restarts.bounds`).
    """
    kept = before if strategy in (None, before.strategy) else RestartStrategy(strategy or before.strategy, poison_after=before.poison_after)
    values = {name: value if name == "jitter_factor" else value or None for name, value in given.items()}
    alien = sorted(name for name in values if name != "poison_after" and name not in OPTIONS[kept.strategy])
    if alien:
        has = ", ".join(map(flag, sorted(OPTIONS[kept.strategy]))) or "none"
        message = f"The strategy {kept.strategy.value} has no {', '.join(map(flag, alien))}"
        raise Invalid("restarts.option", message, f"Choose with --strategy one that has it; the options of {kept.strategy.value}: {has}.")
    after = replace(kept, **values)  # type: ignore[arg-type]
    _check(after)
    return after


def flag(name: str) -> str:
    """The option's flag: `--max-backoff`."""
    names = {"failures": "max-failures-per-interval", "interval_ms": "failure-rate-interval", "reset_backoff_ms": "reset-backoff-threshold"}
    return f"--{names.get(name, name.removesuffix('_ms').replace('_', '-'))}"


def _check(strategy: RestartStrategy) -> None:
    multiplier, jitter = strategy.backoff_multiplier, strategy.jitter_factor
    times = [value for name, value in vars(strategy).items() if name.endswith("_ms") and value]
    wrong = next(
        (
            words
            for words, holds in (
                ("--backoff-multiplier is more than 1 and at most 100", multiplier is None or 1 < multiplier <= MOST_MULTIPLIER),
                ("--jitter-factor is between 0 and 1", jitter is None or 0 <= jitter <= 1),
                ("no time is longer than 366 days", max(times, default=0) <= LONGEST_MS),
                ("--initial-backoff is at most --max-backoff", initial_backoff_ms(strategy) <= max_backoff_ms(strategy)),
            )
            if not holds
        ),
        None,
    )
    if wrong:
        raise Invalid("restarts.bounds", f"This does not hold: {wrong}", "Give another value.")


def initial_backoff_ms(strategy: RestartStrategy) -> int:
    return strategy.initial_backoff_ms or 1_000


def max_backoff_ms(strategy: RestartStrategy) -> int:
    return strategy.max_backoff_ms or 60_000
