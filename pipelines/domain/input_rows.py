"""The input rows of a batch: what a process of the sandbox is told to read again of each source, and what it answers with.

The process works in a folder with the run's `run.json` and a `rows.json` (an `InputTask`); it writes `read.json` (an `InputsRead`).
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.bounds import Count, Took
from pipelines.domain.ids import JobName, QueryName

TASK_FILE, RESULT_FILE = "rows.json", "read.json"
USUAL_ROWS, MOST_ROWS = 100, 1_000
"""Of each source."""
MOST_CHARS = 500
"""Of a value; what is longer is cut."""
MOST_COLUMNS = 200


@dataclass(frozen=True)
class SourceTask:
    """One source of the query: its place among the sources or its name, as the offset log has it, Spark's name of it, and the folder of a
    checkpoint of it alone, whose newest batch is planned and not committed. Without a folder it is not read, for `problem`, if any."""

    key: str
    source: str
    checkpoint: str = ""
    problem: str = ""
    files: tuple[str, ...] = ()
    """Those that the batch reads of it: Spark passes over one that is gone."""


@dataclass(frozen=True)
class InputTask:
    """Which query's sources to read, and how many rows of each."""

    query: QueryName
    limit: Count
    sources: tuple[SourceTask, ...]


@dataclass(frozen=True)
class InputColumn:
    """A column as the source gives it, with Spark's name of its type."""

    name: str
    type: str


@dataclass(frozen=True)
class SourceRows:
    """The first rows that the batch reads of a source, before any code of the job's sees them."""

    source: str
    columns: tuple[InputColumn, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    """Values as text, by column: bytes as text where they are UTF-8, else as 0x and digits; lists, maps and structs as JSON."""
    more: bool = False
    """Whether the batch has more rows of it."""
    cut: Count = 0
    """How many of the values are not whole."""
    columns_left_out: Count = 0
    problem: str = ""
    """Why its rows, or some of them, cannot be given; empty where they are."""


@dataclass(frozen=True)
class InputsRead:
    """The answer of the process. `problem` says why the query's sources are not known: its code ended before it started."""

    sources: tuple[SourceRows, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class InputRows:
    """The input rows of the batch that a job failed at, by source."""

    job: JobName
    query: QueryName
    batch: Count
    sources: tuple[SourceRows, ...]
    took_ms: Took
