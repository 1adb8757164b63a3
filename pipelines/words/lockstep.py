"""What a comparison can say of its cause, in words: the code, or also the timing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.domain.experiments import Comparison
from pipelines.words import verdicts

FREE = (
    "The two run freely, each with batches of its own: whether a difference is the code's or that of timing cannot be told. A fork in "
    "lock-step has the very batches of its parent."
)
UNCUT = (
    "They are in lock-step, but Spark has merged the log of a file sink past the newest batch that both have, so they were compared like "
    "jobs that run freely: rows that only one of them has may be of batches that the other has not done yet."
)
IN_STEP = "As of the newest batch that both have"
"""The note of a point that is not as it is now, but as of a batch that the other has, too."""

KINDS = ("changed", "only_a", "only_b")
"""In the order in which they are told of."""


def cause(comparison: Comparison) -> str:
    """One or two sentences: where outputs in lock-step part, or why nothing can be said of the cause. Empty for equal free ones."""
    stepped = comparison.lock_step
    if stepped is None and comparison.uncut:
        return UNCUT
    if stepped is None:
        return FREE if comparison.differs else ""
    common = f"In lock-step, batch by batch up to batch {stepped.until:,}"
    if stepped.first is not None:
        at = key(stepped.keys, stepped.examples)
        return f"{common}: the first batch whose rows differ is {stepped.first:,}{f', {at}' if at else ''}. {_whose(comparison)}"
    if not comparison.differs:
        return f"{common}: the rows of each batch are the same."
    return f"{common}: the rows differ before batch {stepped.since:,}, where batches cannot be told apart any more. {_whose(comparison)}"


def _whose(comparison: Comparison) -> str:
    return "Each difference is the code's." if not comparison.varies else "It is the code's, or comes by itself."


def varies(names: Sequence[str]) -> str:
    """`Depends on the clock or on chance, so that a replay differs by itself: rand().`; empty for nothing."""
    return f"{verdicts.VARIES}: {', '.join(names)}." if names else ""


def key(keys: Sequence[str], examples: Mapping[str, Sequence[Mapping[str, Any]]], sides: tuple[str, str] = ("A", "B")) -> str:
    """The first row that parts: `at post=p1 (views: 12 in A, 11 in B)`, `at post=p7, which only A has`; empty where none is shown."""
    kind = next((kind for kind in KINDS if examples.get(kind)), "")
    if not kind:
        return ""
    row = examples[kind][0]
    if kind == "changed":
        columns = dict.fromkeys(name[2:] for name in row if name not in keys)
        apart = ", ".join(f"{name}: {row.get(f'a.{name}')} in {sides[0]}, {row.get(f'b.{name}')} in {sides[1]}" for name in columns)
        return f"at {_named(row, keys)} ({apart})"
    return f"at {_named(row, keys or list(row))}, which only {sides[kind == 'only_b']} has"


def _named(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name}={row.get(name)}" for name in names)


def point(job: str, query: str, batch: int) -> str:
    """The state of a job as of a batch of one query, as a difference of state names it: `a@counts=7`."""
    return f"{job}@{query}={batch}"
