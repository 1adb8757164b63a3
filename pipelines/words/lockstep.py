"""What a comparison can say of its cause, in words: the code, or also the timing."""

from __future__ import annotations

from pipelines.domain.experiments import Comparison

FREE = (
    "The two run freely, each with batches of its own: whether a difference is the code's or that of timing cannot be told. A fork in "
    "lock-step has the very batches of its parent."
)
UNCUT = (
    "They are in lock-step, but Spark has merged the log of a file sink past the newest batch that both have, so they were compared like "
    "jobs that run freely: rows that only one of them has may be of batches that the other has not done yet."
)


def cause(comparison: Comparison) -> str:
    """One or two sentences: where outputs in lock-step part, or why nothing can be said of the cause. Empty for equal free ones."""
    stepped = comparison.lock_step
    if stepped is None and comparison.uncut:
        return UNCUT
    if stepped is None:
        return FREE if comparison.differs else ""
    common = f"In lock-step, batch by batch up to batch {stepped.until:,}"
    if stepped.first is not None:
        return f"{common}: the first batch whose rows differ is {stepped.first:,}. Each difference is the code's."
    if not comparison.differs:
        return f"{common}: the rows of each batch are the same."
    return f"{common}: the rows differ before batch {stepped.since:,}, where batches cannot be told apart any more. That is the code's."
