"""Replays: changed code over exactly what a job read between two of its savepoints, and how its result differs from the job's own."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.bounds import Batch, Count, Moment, Took
from pipelines.domain.ids import JobName, QueryName, ReplayId, SavepointId, VersionId

SERVER_ENDED = "The server ended meanwhile."
"""The failure of a replay that ended with its server."""


class Outcome(enum.StrEnum):
    """What came of a replay, or of a part of it."""

    EQUAL = "equal"
    DIFFERENT = "different"
    FAILED = "failed"
    """The code failed before it had read all, or the server ended before all was compared."""
    NOT_COMPARED = "not compared"
    """Of a part alone: the note says why."""


class Kind(enum.StrEnum):
    """What a part is."""

    OUTPUT = "output"
    STATE = "state"


@dataclass(frozen=True)
class ReplayedPart:
    """One query's output of the batches in between, or one table of its state after them: A is the job's own, B the replay's."""

    kind: Kind
    query: QueryName
    name: str
    """The sink's format, or what tells the table from the query's others."""
    outcome: Outcome
    columns: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """The columns that name a row; none where whole rows were compared."""
    rows_a: Count = 0
    """Rows of an output, keys of state: so are all counts."""
    rows_b: Count = 0
    equal: Count = 0
    only_a: Count = 0
    only_b: Count = 0
    changed: Count = 0
    since: Batch | None = None
    """The first batch whose rows were compared by themselves; None where none could be told from the others."""
    first: Batch | None = None
    """The first of those whose rows part."""
    examples: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """`only_a`, `only_b`: rows; `changed`: the key, and `a.<column>` and `b.<column>` of each column that differs."""
    note: str = ""
    first_keys: tuple[str, ...] = ()
    """The columns that name a row of the batch `first`."""
    first_examples: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """The rows of that batch that part, as `examples` has them."""

    @property
    def title(self) -> str:
        """`output of counts (parquet)`, `state of counts / 0 / default`."""
        return f"output of {self.query} ({self.name})" if self.kind is Kind.OUTPUT else f"state of {self.name}"


@dataclass(frozen=True)
class Replay:
    """A replay that has ended (`replays/<id>.json`)."""

    id: ReplayId
    job: JobName
    """Whose batches were replayed."""
    savepoint: SavepointId
    end: SavepointId
    version: VersionId
    """The code that was tried."""
    fork: JobName
    """The job that ran it."""
    kept: bool
    """Whether that job is there to be looked at."""
    began: Mapping[QueryName, Batch]
    """Query -> the batch of the first savepoint."""
    until: Mapping[QueryName, Batch]
    """Query -> the batch of the second one: the last that was replayed."""
    created_ms: Moment
    took_ms: Took
    outcome: Outcome
    parts: tuple[ReplayedPart, ...] = ()
    """None where it failed."""
    failure: str = ""
    """What it failed with."""
    varies: tuple[str, ...] = ()
    """What of its code, or of the job's own, depends on the clock or on chance, and differs by itself."""

    @property
    def batches(self) -> int:
        """How many batches were replayed, of all queries."""
        return sum(self.until[query] - self.began[query] for query in self.until)

    @property
    def is_interrupted(self) -> bool:
        """Whether it failed because the server ended: nothing is said of the code."""
        return self.failure == SERVER_ENDED


def outcome(parts: tuple[ReplayedPart, ...]) -> Outcome:
    """Of the whole: different where a part is, equal where all that was compared is."""
    different = any(part.outcome is Outcome.DIFFERENT for part in parts)
    return Outcome.DIFFERENT if different else Outcome.EQUAL
