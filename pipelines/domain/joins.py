"""The state of a join of two streams for changed code: the rows that wait on each side get the columns that the changed code keeps of them.

What stands there already is kept or cast to a wider type. A column that is new is null in the rows that wait. Which rows wait, and which of
them were matched, is what the join and what is below it say: that has to be the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.domain import contracts, deduplications, migrated_columns, operator_places
from pipelines.domain.contracts import Keeps
from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import Aggregate, Becomes, ByColumns
from pipelines.domain.planned_columns import PlannedKey
from pipelines.domain.plannings import PlannedOperator

SIDES, ROWS = ("left", "right"), "keyWithIndexToValue"
"""What the store of a side's rows is called in formats 1 and 2 of joins, after the side; beside it is one of their numbers."""
MATCHED = "matched"
"""Spark's last column of a row, from format 2 of joins on."""
Values = Mapping[str, Sequence[str]]
"""Side -> the names of the columns of its rows."""


def check(query: str, new: PlannedOperator, kept: Keeps, keeps: Keeps) -> None:
    """Raises Unsupported (`migrate.operators`) for another key, and for a format of joins that has other stores."""
    if not contracts.keys_fit(kept, keeps):
        raise _refused(query, new, "it joins by another key than before")
    if not values(kept) or not values(keeps):
        raise _refused(query, new, "its state is of another format than 1 and 2, which alone were measured")


def values(keeps: Keeps) -> Values:
    """The names of the columns of each side's rows; nothing in a format that has other stores."""
    stores = {side: f"{side}-{ROWS} value" for side in SIDES}
    return {side: migrated_columns.once(contracts.names_of(keeps, store)) for side, store in stores.items() if store in keeps.columns}


def by_columns(query: str, old: PlannedOperator | None, new: PlannedOperator, before: Values) -> Mapping[str, ByColumns]:
    """How the rows of each side come out of those before, whose columns are called `before`, each name of a side once.

    Raises Unsupported (`migrate.operators`) where the old state does not determine which rows wait, or a new column cannot be null."""
    then = old.join if old is not None else None
    if then is None or new.join is None:
        raise _refused(query, new, "the columns of its sides before and now cannot be told apart")
    if then.digest != new.join.digest:
        raise _refused(query, new, "it joins other rows, or on another condition, than before")
    gaps = tuple(dict.fromkeys((*then.gaps, *new.join.gaps)))
    return {side: _side(query, new, side, columns, new.join.sides[side], before[side], gaps) for side, columns in then.sides.items()}


def _side(
    query: str,
    operator: PlannedOperator,
    side: str,
    old: Sequence[PlannedKey],
    new: Sequence[PlannedKey],
    names: Sequence[str],
    gaps: tuple[str, ...],
) -> ByColumns:
    beside = names[len(old) :]
    if len(names) - len(beside) != len(old) or len(beside) > 1 or not all(name.startswith(MATCHED) for name in beside):
        raise _refused(query, operator, f"its {side} side keeps {len(names)} columns, and not those of its rows")
    free, made, expressions, unsure = list(old), list[Aggregate](), list[str](), list(gaps)
    for column in new:
        before = deduplications.match(free, column)
        made.append(_becomes(query, operator, side, before, column))
        expressions.append("NULL" if before is None else f"value.`{names[old.index(before)]}`")
        if before is not None:
            free.remove(before)
            unsure += [*before.gaps, *column.gaps]
    made += [Aggregate(Becomes.DROPPED, f"{side} {column.name}") for column in free]
    _refuse_event_times(query, operator, side, old, new)
    expressions += [f"value.`{name}`" for name in beside]
    changes = expressions != [f"value.`{name}`" for name in names] or any(aggregate.becomes is not Becomes.KEPT for aggregate in made)
    return ByColumns(tuple(made), tuple(expressions), changes, tuple(dict.fromkeys(unsure)))


def _becomes(query: str, operator: PlannedOperator, side: str, before: PlannedKey | None, now: PlannedKey) -> Aggregate:
    text = f"{side} {now.name}"
    if before is not None:
        return Aggregate(Becomes.KEPT if before.kind == now.kind else Becomes.WIDENED, text)
    if not now.is_nullable:
        raise _refused(query, operator, f"{text} is new or computed otherwise, is never null, and the rows that wait do not say it")
    return Aggregate(Becomes.ADDED, f"{text} (null in the rows that wait)")


def _refuse_event_times(query: str, operator: PlannedOperator, side: str, old: Sequence[PlannedKey], new: Sequence[PlannedKey]) -> None:
    """Rows that are late are left out where their event time is among what is kept, and else they are not."""
    before, now = ([column.digest for column in columns if column.is_event_time] for columns in (old, new))
    if sorted(before) != sorted(now):
        raise _refused(query, operator, f"its {side} side keeps another event time, which says what is too late")


def _refused(query: str, operator: PlannedOperator, why: str) -> Unsupported:
    name = operator_places.name_of(query, operator.id)
    message = f"{name} ({operator.name}) cannot be migrated by columns: {why}"
    return Unsupported("migrate.operators", message, f"Keep it as it was; or drop its state, so that it begins empty: --drop {name}.")
