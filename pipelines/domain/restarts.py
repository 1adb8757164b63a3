"""Restarts: what becomes of a job after a run of it failed. Pure.

Like in Flink only a job that ran is restarted. What fails at one batch again and again is stopped: a poison batch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from pipelines.domain.bounds import Count, Moment
from pipelines.domain.home_leases import LEASED, LOST, NO_LEASE
from pipelines.domain.homes import AWAY
from pipelines.domain.hosts import LOST as HOST_LOST
from pipelines.domain.ids import QueryName, VersionId
from pipelines.domain.references import MISSING, UNREADABLE
from pipelines.domain.restart_strategies import RestartStrategy, Strategy, initial_backoff_ms, max_backoff_ms

POISON_AFTER = 3
"""So many failures of the same batch with the same error class are a poison batch."""
STUCK_AFTER = 10
"""So many failures of the same batch are one, too, whatever each failed with. It is more, as a driver may be killed by anybody."""
MISFIT = r"STATE_STORE_.*SCHEMA|STATEFUL_OPERATOR|STATE_SCHEMA"
"""Spark's error classes of code that does not fit its state, which no restart mends."""
_REFUSED = re.compile(r"[a-z_]+\.[a-z_]+")
"""Codes of refusals of our own; Spark's error classes and Python's exceptions have capitals."""
_PASSES = {
    *(LEASED, LOST, NO_LEASE, AWAY, MISSING, UNREADABLE),
    *("storage.failed", "storage.unreachable", "storage.busy", "master.kubernetes_away", "master.yarn_away"),
}
"""Refusals that end by themselves."""


@dataclass(frozen=True)
class SourceSpan:
    """What a batch reads of a source: Spark's JSON of the offset before it (empty: the beginning) and of its own."""

    source: str
    before: str
    offset: str
    amount: Count | None = None
    unit: str = "rows"
    """`rows` or `files`."""
    files: tuple[str, ...] = ()
    """The first of its files."""
    at_most: bool = False
    """Whether `amount` counts partitions from 0 that came with this batch: Spark reads them from the first row that they still have."""


@dataclass(frozen=True)
class FailedBatch:
    """The batch of a query that was planned and not committed when its run failed."""

    query: QueryName
    batch: Count
    sources: tuple[SourceSpan, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether the query has no state before it."""
        return self.batch == 0

    def is_that(self, other: FailedBatch | None) -> bool:
        """Whether both are the same batch of the same query."""
        return other is not None and (self.query, self.batch) == (other.query, other.batch)


@dataclass(frozen=True)
class RestartDecision:
    """What becomes of a job after a run of it failed (`restart.json` in the run's folder)."""

    at_ms: Moment | None
    """When its next run begins; None: it does not."""
    attempt: Count = 0
    """The number of the restart, from 1; 0 where there is none."""
    most: Count | None = None
    """How many there may be; None: without end."""
    backoff_ms: Count = 0
    """The delay before chance changed it, from which the next one grows."""
    why: str = ""
    """Why there is none, why it begins later than it was to, or why the job goes back."""
    batch: FailedBatch | None = None
    poison: Count = 0
    """How often the batch failed, where it is a poison batch; else 0."""
    back: VersionId | None = None
    """The version that the job goes back to: the run was on probation. `why` says what it failed at."""


@dataclass(frozen=True)
class Failure:
    """The end of a run that failed."""

    at_ms: int
    ran_ms: int
    """How long it had run."""
    error_class: str
    """Empty where the driver was killed, or ended without a word."""
    attempt: int = 0
    """Which restart in a row the run was; 0: somebody began it."""
    backoff_ms: int = 0
    """That which was waited for before the run."""
    batch: FailedBatch | None = None


def worth(error_class: str, *, ran: bool) -> str:
    """Why a failure is not worth a restart; empty where it is. `ran`: whether a query was up, in this run or before its
    restart."""
    if not ran:
        return "it failed before a query of it had started"
    if error_class == HOST_LOST:
        return "its driver may live on its host; once that is known to be down, resume the job"
    if re.search(MISFIT, error_class):
        return "its code does not fit its state, which no restart mends"
    if _REFUSED.fullmatch(error_class) and error_class not in _PASSES:
        return "its start was refused, which no restart mends"
    return ""


def decide(strategy: RestartStrategy, failures: Sequence[Failure], *, ends: bool, chance: float) -> RestartDecision:
    """What becomes of a job after `failures[0]`, which is worth a restart; the others are those before it since somebody began the job,
    newest first. `chance`, from 0 to 1, is where in the jitter the delay lies."""
    last, chosen = failures[0], strategy.chosen(ends=ends)
    if times := _poison(strategy, failures):
        why = f"it failed at the same batch {times} times in a row"
        return RestartDecision(None, why=why, batch=last.batch, poison=times)
    if chosen is Strategy.NONE:
        ended = "its queries end by themselves, so that it is not restarted unless a strategy says so"
        why = ended if strategy.strategy is Strategy.USUAL else "its restart strategy is none"
        return RestartDecision(None, why=why, batch=last.batch)
    if chosen is Strategy.FIXED_DELAY:
        return _fixed(strategy, last)
    return _rate(strategy, failures) if chosen is Strategy.FAILURE_RATE else _exponential(strategy, last, chance)


def _poison(strategy: RestartStrategy, failures: Sequence[Failure]) -> int:
    """How often in a row the last failure was at the same batch, where that is often enough; else 0. A failure at no batch says nothing:
    the batch that is not committed now was not committed then."""
    last, most = failures[0], strategy.poison_after or POISON_AFTER
    at = last.batch
    if at is None:
        return 0
    same = list(takewhile(lambda failure: at.is_that(failure.batch), (failure for failure in failures if failure.batch is not None)))
    alike = sum(1 for _ in takewhile(lambda failure: failure.error_class == last.error_class, same))
    if last.error_class and alike >= most:
        return alike
    return len(same) if len(same) >= max(most, STUCK_AFTER) else 0


def _fixed(strategy: RestartStrategy, last: Failure) -> RestartDecision:
    most, delay_ms = strategy.attempts or 1, strategy.delay_ms or 1_000
    if last.attempt >= most:
        return RestartDecision(None, most=most, why=_exhausted(most), batch=last.batch)
    return RestartDecision(last.at_ms + delay_ms, last.attempt + 1, most, delay_ms, batch=last.batch)


def _rate(strategy: RestartStrategy, failures: Sequence[Failure]) -> RestartDecision:
    last, most = failures[0], strategy.failures or 1
    interval_ms, delay_ms = strategy.interval_ms or 60_000, strategy.delay_ms or 1_000
    recent = sum(last.at_ms - failure.at_ms <= interval_ms for failure in failures)
    if recent > most:
        why = f"it failed {recent} times in {interval_ms / 1_000:g} s; its failure-rate strategy allows {most}"
        return RestartDecision(None, why=why, batch=last.batch)
    return RestartDecision(last.at_ms + delay_ms, last.attempt + 1, None, delay_ms, batch=last.batch)


def _exponential(strategy: RestartStrategy, last: Failure, chance: float) -> RestartDecision:
    initial_ms, longest_ms, most = initial_backoff_ms(strategy), max_backoff_ms(strategy), strategy.attempts
    anew = last.attempt == 0 or last.ran_ms >= (strategy.reset_backoff_ms or 3_600_000)
    attempt = 1 if anew else last.attempt + 1
    if most is not None and attempt > most:
        return RestartDecision(None, most=most, why=_exhausted(most), batch=last.batch)
    grown_ms = round(last.backoff_ms * (strategy.backoff_multiplier or 1.5))
    backoff_ms = initial_ms if anew else max(initial_ms, min(grown_ms, longest_ms))
    jitter = 0.1 if strategy.jitter_factor is None else strategy.jitter_factor
    delay_ms = min(round(backoff_ms * (1 + jitter * (2 * chance - 1))), longest_ms)
    return RestartDecision(last.at_ms + delay_ms, attempt, most, backoff_ms, batch=last.batch)


def _exhausted(most: int) -> str:
    return f"it was restarted {most} times" if most != 1 else "it was restarted once"
