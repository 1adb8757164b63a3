"""Keys: one key of a running job's state, as of its newest committed batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain import types
from pipelines.domain.bounds import Count
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.struct_columns import Struct

MOST_BATCHES = 100
"""Of so many batches the changes of a key can be asked for: Spark keeps no more, unless it is told to."""


@dataclass(frozen=True)
class KeyChange:
    """What a batch made of a key."""

    batch: Count
    change: str
    """`update`, or `delete`; of a list, and of a side of a join in format 4 of joins, also `append`. As Spark's change feed has it."""
    row: Mapping[str, Any]
    """`key` and `value` as Spark writes them as JSON."""

    @staticmethod
    def of(row: Mapping[str, Any]) -> KeyChange:
        """From a row of Spark's change feed."""
        left = {name: value for name, value in row.items() if name not in ("batch_id", "change_type", "partition_id")}
        return KeyChange(int(row["batch_id"]), str(row["change_type"]), left)


@dataclass(frozen=True)
class KeyHistory:
    """The batches that changed a key, in their order: all of those after `since`."""

    since: int
    changes: tuple[KeyChange, ...]
    note: str = ""
    """Why it begins later than was asked for, or has nothing."""


@dataclass(frozen=True)
class KeyRows:
    """The rows that a job keeps of one key: none, one, or (a side of a join, a list, a map) several."""

    job: JobName
    query: QueryName
    operator: int
    store: str
    variable: str
    batch: int
    """The newest committed batch, of which the answer is."""
    batch_ms: int
    """When that batch was planned."""
    partition: int | None
    """The one partition that was read; None where the operator does not place its rows by the whole key, and all were read."""
    rows: tuple[Mapping[str, Any], ...]
    """`key` and `value` as Spark writes them as JSON (times in UTC), `partition_id`."""
    took_ms: float
    history: KeyHistory | None = None
    """Where it was asked for."""


def refused(why: str) -> Invalid:
    """The error of a key that a table cannot have."""
    return Invalid("state.key", f"This state has no such key: {why}", "Give each column: --key NAME=VALUE, again for the next.")


def check(key: Mapping[str, str | None], struct: Struct) -> None:
    """Raises Invalid (`state.key`) for a key without one of the columns of `struct`, or with others; their values are Spark's to judge."""
    columns = list(_columns(struct))
    known = {path for path, _, _ in columns}
    others = sorted(key.keys() - known)
    if others:
        leaves = ", ".join(path for path, kind, _ in columns if not _is_struct(kind))
        raise refused(f"there is no key column {', '.join(others)}; there are {leaves}")
    for path, kind, above in columns:
        if not _is_struct(kind) and not key.keys() & {path, *above}:
            raise refused(f"{path} ({_sql(kind)}) is missing: the whole key is needed")


def _columns(struct: Struct, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """(path, type in Spark's JSON, paths of the structs that it is in) of every column, at any depth."""
    for field in struct["fields"]:
        path = f"{above[-1]}.{field['name']}" if above else field["name"]
        yield path, field["type"], above
        if _is_struct(field["type"]):
            yield from _columns(field["type"], (*above, path))


def _sql(kind: Any) -> str:
    return types.SQL.get(kind, kind) if isinstance(kind, str) else str(kind["type"])


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, Mapping) and kind.get("type") == "struct"
