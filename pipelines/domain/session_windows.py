"""The state of session windows for changed code: before the columns of its aggregates a row has those that it is grouped by, the session
among them wherever the code names it. The key has them too, with the session's start at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.domain import migrated_columns, migrations
from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import ByColumns
from pipelines.domain.plannings import PlannedOperator


@dataclass(frozen=True)
class Columns:
    """The names of the columns of its state, as Spark has them."""

    key: Sequence[str]
    value: Sequence[str]

    @property
    def grouping(self) -> int:
        """How many of the value's columns, its first, are those that it is grouped by."""
        return len(self.key)

    def order(self) -> list[int] | None:
        """Where the value has the columns of the key, then the session; None where that cannot be told."""
        grouped, keys = list(self.value[: self.grouping]), list(self.key[:-1])
        places = [at for at in range(len(grouped)) if grouped[:at] + grouped[at + 1 :] == keys]
        return [*(at for at in range(len(grouped)) if at != places[0]), places[0]] if len(places) == 1 else None

    def copies(self) -> tuple[tuple[str, str], ...]:
        """What stands in the key and in the value, as SQL over either."""
        order, named = self.order() or [], migrated_columns.once(self.value)
        values = [f"value.`{named[at]}`" for at in order]
        return tuple(zip((f"key.`{name}`" for name in migrated_columns.once(self.key)), [*values[:-1], f"{values[-1]}.start"], strict=True))


def by_columns(
    query: str, old: PlannedOperator | None, new: PlannedOperator, before: Columns, after: Columns, *, beneath: bool = False
) -> ByColumns:
    """How the value comes out of the value before, as `migrated_columns.by_columns` says of aggregates.

    Raises Unsupported (`migrate.columns`) where it cannot be told."""
    was, is_now, names = before.order(), after.order(), migrated_columns.once(before.value)
    if was is None or is_now is None or before.grouping != after.grouping:
        message = f"Operator {new.id} of query {query} cannot be migrated by columns: what it is grouped by cannot be told from its session"
        raise Unsupported("migrate.columns", message, migrations.BY_FUNCTION)
    made = migrated_columns.by_columns(query, old, new, names[before.grouping :], beneath=beneath)
    grouped = dict(zip(is_now, (f"value.`{names[at]}`" for at in was), strict=True))
    expressions = (*(grouped[at] for at in range(after.grouping)), *made.expressions)
    return replace(made, expressions=expressions, changes=made.changes or was != is_now)


def never_null(new: PlannedOperator, after: Columns) -> tuple[int, ...]:
    """Which columns of the value always have a value, as `migrated_columns.never_null` says of those of aggregates."""
    return tuple(after.grouping + at for at in migrated_columns.never_null(new.aggregates))
