"""A source of a fork that goes on from elsewhere than the savepoint says, with the state as it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.bounds import Count
from pipelines.domain.ids import QueryName

EARLIEST, LATEST = "earliest", "latest"
MOST_EXAMPLES = 10


@dataclass(frozen=True)
class MovedSource:
    """Where a source stood and where it goes on: Spark's JSON of the offsets. What lies between is `skipped`, which the state never gets,
    or read `again`, which the state has already."""

    query: QueryName
    source: str
    before: str
    after: str
    skipped: Count
    again: Count
    unit: str
    """`files` or `rows`."""
    examples: tuple[str, ...] = ()
    """The first of the files."""
    is_counted: bool = True
    """Whether `skipped` and `again` are known: not where a table has no more what lies between, nor where offsets mean something to the
    source alone."""
    at_most: bool = False
    """Whether fewer may be skipped: files lie there that the source never read, and its path or its options may leave them out."""
