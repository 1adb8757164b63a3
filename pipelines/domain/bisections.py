"""Bisections: between a savepoint at which a job's rows were right and one at which they were wrong, the first batch that is wrong."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.domain.bounds import Batch, Count, Moment, Took
from pipelines.domain.ids import BisectionId, JobName, QueryName, SavepointId


class Over(enum.StrEnum):
    """What is judged, as of a batch."""

    OUTPUT = "output"
    """All rows that the query's file sink has."""
    STATE = "state"
    """The rows of one table of its state."""


class Way(enum.StrEnum):
    """Where the rows as of a batch came from."""

    LOG = "log"
    """The log of the file sink says which files were written up to the batch: nothing runs."""
    SAVEPOINT = "savepoint"
    """A savepoint of just that batch."""
    RETAINED = "retained"
    """Spark still keeps that batch's state: a savepoint of it is taken for a moment."""
    WHAT_IF = "what-if"
    """A fork ran the job's own code again, with the same input in the same batches, up to there."""


class Answer(enum.StrEnum):
    """What a judge says of one batch."""

    RIGHT = "right"
    WRONG = "wrong"
    SKIPPED = "skipped"
    """A script ended with 125: it cannot say."""


@dataclass(frozen=True)
class Step:
    """One batch that was judged."""

    batch: Batch
    answer: Answer
    way: Way
    rows: Count
    """Rows that the SQL gave, or that the script named, as far as they were counted."""
    took_ms: Took


@dataclass(frozen=True)
class Input:
    """What the first wrong batch read of one source: Spark's offsets (JSON) before and after it, and new files of a file source."""

    source: str
    start: str
    end: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Changes:
    """What became otherwise from the last right batch (A) to the first wrong one (B): of an output the rows of files that one of both
    lacks, of state all rows."""

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    """The columns that name a row; none where whole rows were compared."""
    equal: Count
    only_a: Count
    only_b: Count
    changed: Count
    examples: Mapping[str, tuple[Mapping[str, Any], ...]]
    """`only_a`, `only_b`: rows; `changed`: the key, and `a.<column>` and `b.<column>` of each column that differs."""
    note: str = ""


@dataclass(frozen=True)
class Bisection:
    """A bisection that has ended (`bisections/<id>.json`)."""

    id: BisectionId
    job: JobName
    query: QueryName
    over: Over
    table: str
    """The table of state that was judged; empty for an output."""
    good: SavepointId
    bad: SavepointId
    good_batch: Batch
    bad_batch: Batch
    sql: str
    """Empty where a script judged."""
    steps: tuple[Step, ...]
    right: Batch
    """The last batch that is right."""
    wrong: Batch
    """The first that is wrong; between the two are only those that a script could not judge."""
    inputs: tuple[Input, ...]
    """Of all batches after `right` up to `wrong`; none where Spark no longer keeps their offsets."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """What the SQL gives, or the script names, as wrong as of the first wrong batch: JSON values, at most so many as were asked for."""
    more: bool
    """Whether there are more of them."""
    created_ms: Moment
    took_ms: Took
    changes: Changes | None = None
    """None where the state that was read of one of both batches has left the cache since."""
    words: str = ""
    """The last words of the script that called the first wrong batch so: an error of its own looks like an answer."""


def middle(right: int, wrong: int, skipped: Sequence[int] = ()) -> int | None:
    """The batch to judge next: of those in between that were not skipped the one in their middle; None where there is none."""
    between = [batch for batch in range(right + 1, wrong) if batch not in skipped]
    return between[(len(between) - 1) // 2] if between else None


def at_most(right: int, wrong: int) -> int:
    """How many batches are judged at most to find the first wrong one, besides both ends."""
    return (wrong - right - 1).bit_length()


def answer_of(code: int) -> Answer | None:
    """What the exit code of a script means, as `git bisect run` has it; None where that is no answer."""
    if code == 0:
        return Answer.RIGHT
    if code == 125:
        return Answer.SKIPPED
    return Answer.WRONG if 0 < code < 128 else None
