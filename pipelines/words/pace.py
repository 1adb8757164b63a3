"""Progress of work: the share that is done, its rate, and the time left. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.operations import Amount
from pipelines.words import formats

WINDOW_MS = 10_000
"""A rate is that of the last ten seconds."""
SETTLED_MS = 900
"""Younger than this, a rate would jump about; nothing is said of it yet."""


@dataclass(frozen=True)
class Sample:
    """The amount of a step that was done at a moment (epoch ms)."""

    at_ms: float
    step: str
    done: int


def sampled(before: Sequence[Sample], amount: Amount | None, now_ms: float) -> tuple[Sample, ...]:
    """The samples of the present step, the newest last, none older than the window but one."""
    if amount is None:
        return ()
    same = [sample for sample in before if sample.step == amount.step and sample.done <= amount.done]
    inside = [sample for sample in same if now_ms - sample.at_ms <= WINDOW_MS]
    return (*(inside or same[-1:]), Sample(now_ms, amount.step, amount.done))


def rate(samples: Sequence[Sample]) -> float | None:
    """Units a second over the samples; None while there are too few."""
    if len(samples) < 2 or samples[-1].at_ms - samples[0].at_ms < SETTLED_MS:
        return None
    return (samples[-1].done - samples[0].done) / (samples[-1].at_ms - samples[0].at_ms) * 1_000


def share(amount: Amount | None) -> float | None:
    """The share of the step that is done, from 0 to 1; None while its total is unknown."""
    return None if amount is None or amount.total <= 0 else min(1.0, amount.done / amount.total)


def how_much(amount: Amount) -> str:
    """`1.2 GB of 3.0 GB`, `12 of 40 files`; the done amount alone where the total is unknown, nothing while that is none."""
    done = formats.quantity(amount.done, amount.unit) if amount.done or amount.total else ""
    if not amount.total:
        return done
    whole = formats.quantity(amount.total, amount.unit)
    return f"{done} of {whole}" if amount.unit == "bytes" else f"{amount.done:,} of {whole}"


def how_fast(amount: Amount, samples: Sequence[Sample]) -> list[str]:
    """`120 MB/s` and `18 s left`, as far as they are known."""
    pace = rate(samples)
    if not pace:
        return []
    left_ms = (amount.total - amount.done) / pace * 1_000
    return [formats.pace(pace, amount.unit), *([f"{formats.left(left_ms)} left"] if amount.total > amount.done else [])]
