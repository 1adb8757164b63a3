"""Bisections in words: the batch, and how it was found."""

from __future__ import annotations

from pipelines.domain.bisections import Answer, Bisection, Input, Over, Step, Way
from pipelines.words import formats, offsets

WAYS = {
    Way.LOG: "from the sink's log",
    Way.SAVEPOINT: "from a savepoint",
    Way.RETAINED: "from what Spark still keeps",
    Way.WHAT_IF: "run again",
}


def sentence(bisection: Bisection) -> str:
    """`The first wrong batch of plain is 6: batch 5 is right.`"""
    skipped = bisection.wrong - bisection.right - 1
    what = "the output" if bisection.over is Over.OUTPUT else f"the state {bisection.table}"
    if skipped:
        return (
            f"Of {what} of {bisection.query} batch {bisection.right:,} is right and batch {bisection.wrong:,} is wrong; those in between "
            "could not be judged."
        )
    return f"The first batch of {bisection.query} with which {what} is wrong is {bisection.wrong:,}; as of {before(bisection)} it is right."


def before(bisection: Bisection) -> str:
    """The last right one: `batch 5`, or `its beginning`."""
    return f"batch {bisection.right:,}" if bisection.right >= 0 else "its beginning"


def how(bisection: Bisection) -> str:
    """Whether anything ran to find it."""
    runs = sum(step.way is Way.WHAT_IF for step in bisection.steps)
    judged = f"{len(bisection.steps):,} batches were judged"
    if not runs:
        return f"{judged}, and nothing was run again for it."
    return f"{judged}, {runs:,} of them from a fork that ran the same batches again."


def step(step: Step) -> tuple[str, str, str]:
    """A step: its batch, what was said of it, where its rows came from."""
    rows = f", {formats.plural(step.rows, 'row', 'rows')}" if step.answer is Answer.WRONG and step.rows else ""
    return f"{step.batch:,}", f"{step.answer.value}{rows}", WAYS[step.way]


def read(part: Input) -> str:
    """What the first wrong batch read of one source: `entry 6 of the file log → entry 7 of the file log`."""
    return f"{offsets.words(part.start)} → {offsets.words(part.end)}"


def last(words: str) -> str:
    """The last words of a script that judged, at the end of a message; empty where it had none."""
    return f" The script's last words:\n{words}" if words else ""


def changed(bisection: Bisection) -> str:
    """What became otherwise with the first wrong batch, by key: `Since batch 5, by post: 1 changed, 6 added, 0 removed.`"""
    changes = bisection.changes
    if changes is None:
        return "What it made otherwise is not known: the state that was read has left the cache."
    since = f"Since batch {bisection.right:,}" if bisection.right >= 0 else "From its beginning"
    by = f"by {', '.join(changes.keys)}" if changes.keys else "as whole rows"
    counted = f"{since}, {by}: {changes.changed:,} changed, {changes.only_b:,} added, {changes.only_a:,} removed."
    return " ".join(filter(None, (counted, changes.note)))
