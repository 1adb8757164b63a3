"""Migration by columns: each aggregate of the new code is matched with one of the old code that computes the same on the same rows.

Its columns are kept as they are, or cast to a wider type. An aggregate that has none begins as Spark begins it, as if no row had come
before the savepoint; one that is not in the new code is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import BY_FUNCTION, Aggregate, Becomes, ByColumns
from pipelines.domain.planned_columns import PlannedAggregate
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.types import is_wider

COUNTED = {('"long"', "0L"), ('"boolean"', "false"), ('"boolean"', "true")}
"""Types of columns with what they begin with, where they are never null."""
_LITERAL = re.compile(r"(?:CAST\()?(?P<value>-?[\d.]+|TRUE|FALSE|NULL)(?:L|S|Y|D|F|BD)?(?: AS .*\))?", re.IGNORECASE)
BENEATH = "what {} is computed of, since operators or sources came and went"


def by_columns(query: str, old: PlannedOperator | None, new: PlannedOperator, names: Sequence[str], *, beneath: bool = False) -> ByColumns:
    """How the aggregates of `new` come out of those of `old`, whose columns of state are called `names`, each name once. `beneath`: what
    is computed below may be another, because operators or sources come and go; then an aggregate is kept where it alone and its key are the
    same.

    Raises Unsupported (`migrate.columns`) where they cannot be matched."""
    if old is None or not old.aggregates or not new.aggregates:
        raise _unmatched(query, new, "the aggregates of its code before and now cannot be told apart")
    if sum(len(aggregate.columns) for aggregate in old.aggregates) != len(names):
        raise _unmatched(query, new, f"its state has {len(names)} columns, and not those of its aggregates")
    places = _places(old.aggregates)
    free = list(old.aggregates)
    made: list[Aggregate] = []
    expressions: list[str] = []
    gaps: list[str] = []
    for aggregate in new.aggregates:
        before = _match(free, aggregate) or (_alike(free, aggregate) if beneath else None)
        if before is None:
            initial = _initial(query, new, aggregate)
            made.append(Aggregate(Becomes.ADDED, aggregate.text, reference(initial)))
            expressions += initial
            continue
        free.remove(before)
        gaps += [*before.gaps, *aggregate.gaps, *([] if before.narrow == aggregate.narrow else [BENEATH.format(aggregate.text)])]
        made.append(Aggregate(Becomes.KEPT if before.columns == aggregate.columns else Becomes.WIDENED, aggregate.text))
        expressions += [f"value.`{names[at]}`" for at in places[id(before)]]
    made += [Aggregate(Becomes.DROPPED, aggregate.text) for aggregate in free]
    if len(free) == len(old.aggregates):
        raise _unmatched(query, new, "no aggregate of the code before is computed in the same way now: another key, filter or source")
    changes = expressions != [f"value.`{name}`" for name in names] or any(aggregate.becomes is not Becomes.KEPT for aggregate in made)
    return ByColumns(tuple(made), tuple(expressions), changes, tuple(dict.fromkeys(gaps)))


def reference(initial: Sequence[str]) -> str:
    """What columns begin with, as people write it: `0` for `0L`, `null` for `CAST(NULL AS BIGINT)`; empty where one is no such value."""
    values = [_LITERAL.fullmatch(sql) for sql in initial]
    return ", ".join(match["value"].lower() for match in values if match) if all(values) else ""


def never_null(aggregates: Sequence[PlannedAggregate]) -> tuple[int, ...]:
    """Which columns of the state always have a value: counters and marks, which begin with one and are only counted up or set."""
    columns = [
        pair
        for aggregate in aggregates
        if len(aggregate.initial) == len(aggregate.columns)
        for pair in zip(aggregate.columns, aggregate.initial, strict=True)
    ]
    if len(columns) != sum(len(aggregate.columns) for aggregate in aggregates):
        return ()
    return tuple(at for at, pair in enumerate(columns) if pair in COUNTED)


def once(names: Sequence[str]) -> list[str]:
    """The names, with a number at each that came before: two sums are `sum` and `sum_2`."""
    return [f"{name}_{names[: at + 1].count(name)}" if name in names[:at] else name for at, name in enumerate(names)]


def _places(aggregates: Sequence[PlannedAggregate]) -> Mapping[int, range]:
    """Where the columns of each aggregate are, by its identity."""
    places, at = {}, 0
    for aggregate in aggregates:
        places[id(aggregate)] = range(at, at + len(aggregate.columns))
        at += len(aggregate.columns)
    return places


def _match(free: Sequence[PlannedAggregate], new: PlannedAggregate) -> PlannedAggregate | None:
    same = (old for old in free if old.digest == new.digest and old.columns == new.columns)
    wider = (old for old in free if old.narrow == new.narrow and _widens(old.columns, new.columns))
    return next(same, None) or next(wider, None)


def _alike(free: Sequence[PlannedAggregate], new: PlannedAggregate) -> PlannedAggregate | None:
    return next((old for old in free if old.own and old.own == new.own and old.columns == new.columns), None)


def _widens(old: Sequence[str], new: Sequence[str]) -> bool:
    return len(old) == len(new) and all(a == b or is_wider(a, b) for a, b in zip(old, new, strict=True))


def _initial(query: str, new: PlannedOperator, aggregate: PlannedAggregate) -> tuple[str, ...]:
    if len(aggregate.initial) != len(aggregate.columns):
        raise _unmatched(query, new, f"what {aggregate.text} begins with is not known")
    return aggregate.initial


def _unmatched(query: str, operator: PlannedOperator, why: str) -> Unsupported:
    message = f"Operator {operator.id} of query {query} cannot be migrated by columns: {why}"
    return Unsupported("migrate.columns", message, BY_FUNCTION)
