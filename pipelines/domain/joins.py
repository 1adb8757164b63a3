"""The state of a join of two streams for changed code: the rows that wait on each side get the columns that the changed code keeps of them.

What stands there already is kept or cast to a wider type. A column that is new is null in the rows that wait. Which rows wait, and which of
them were matched, is what the join and what is below it say: that has to be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pipelines.domain import contracts, deduplications, migrated_columns, operator_places
from pipelines.domain.contracts import Keeps
from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import BY_FUNCTION, Aggregate, Becomes, ByColumns
from pipelines.domain.planned_columns import PlannedKey
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.state_variables import Family
from pipelines.domain.struct_columns import Struct

SIDES, ROWS, COUNTS = ("left", "right"), "keyWithIndexToValue", "keyToNumValues"
"""What the store of a side's rows is called in formats 1 and 2 of joins, after the side, and the one beside it, of how many there are of a
key. In format 3 they are column families of the one store."""
TIMED, TIMES = "keyWithTsToValues", "tsWithKey"
"""What the column family of a side's rows is called in format 4, and the one beside it that has their keys in the order of time. A key of
either has several values; its last column is `EVENT_TIME`, which says nothing of where it is."""
EVENT_TIME = "__event_time"
NUMBER = "index"
"""The last column of that key in formats 1 to 3, which tells the rows of one key apart; nothing is spread by it either."""
DEFAULT = "default"
WATERMARK = "spark.watermarkDelayMs"
"""The metadata of a column that has a watermark (EventTimeWatermark)."""
MATCHED = "matched"
"""Spark's last column of a row, from format 2 of joins on."""
Values = Mapping[str, Sequence[str]]
"""Side -> the names of the columns of its rows."""


def check(query: str, new: PlannedOperator, kept: Keeps, keeps: Keeps) -> None:
    """Raises Unsupported (`migrate.operators`) for another key, and for a format of joins that is not known or is another."""
    if not contracts.keys_fit(kept, keeps):
        raise _refused(query, new, "it joins by another key than before")
    check_format(query, new, kept, keeps)


def check_format(query: str, new: PlannedOperator, kept: Keeps, keeps: Keeps) -> None:
    """Raises Unsupported (`migrate.operators`) for a format of joins that is not known or is another."""
    if not values(kept) or kept.families.keys() != keeps.families.keys():
        raise _refused(query, new, "its state is of another format than 1 to 4, which alone were measured", "")


def never_null(names: Sequence[str]) -> tuple[int, ...]:
    """Which columns of a side's rows always have a value: whether the row was matched."""
    return (len(names) - 1,) if names and names[-1].startswith(MATCHED) else ()


def values(keeps: Keeps) -> Values:
    """The names of the columns of each side's rows; nothing in a format that is not known."""
    stores = (("", ROWS), (f"{DEFAULT} ", ROWS), (f"{DEFAULT} ", TIMED))
    known = {side: [f"{store}{side}-{rows} value" for store, rows in stores] for side in SIDES}
    places = {side: next((place for place in names if place in keeps.columns), "") for side, names in known.items()}
    return {side: migrated_columns.once(contracts.names_of(keeps, place)) for side, place in places.items() if place}


def of_side(families: Iterable[str], side: str) -> tuple[str, str]:
    """The column families of a side in formats 3 and 4: that of its rows, and the one beside it."""
    kinds = next(kinds for kinds in ((ROWS, COUNTS), (TIMED, TIMES)) if f"{side}-{kinds[0]}" in families)
    return f"{side}-{kinds[0]}", f"{side}-{kinds[1]}"


def has_many(family: str) -> bool:
    """Whether a key of a column family has several values, a row each."""
    return family.partition("-")[2] in (TIMED, TIMES)


def families(kept: Keeps, keeps: Keeps, made: Mapping[str, ByColumns]) -> tuple[Family, ...]:
    """The column families of formats 3 and 4, of which those with a side's rows have other columns, and the others stay."""
    return tuple(_family(name, kept, keeps, made) for name in keeps.families)


def _family(name: str, kept: Keeps, keeps: Keeps, made: Mapping[str, ByColumns]) -> Family:
    (key, value), (_, value_now) = kept.families[name], keeps.families[name]
    side, _, kind = name.partition("-")
    if kind not in (ROWS, TIMED):
        return Family(name, name, (key, key), (value, value))
    names = _names(value)
    places = {f"value.`{column}`": at for at, column in enumerate(names)}
    return Family(name, name, (key, key), (value, value_now), places=tuple(map(places.get, made[side].expressions)))


def made_families(query: str, new: PlannedOperator, kept: Keeps, keeps: Keeps) -> tuple[Family, ...]:
    """The column families of formats 3 and 4 where a function makes the rows of each side, and what is beside them follows from those.

    Raises Unsupported (`migrate.operators`) where it is not known by which event time format 4 keeps them."""
    if new.join is None and any(map(has_many, keeps.families)):
        raise _refused(query, new, "which event time its rows are kept by cannot be told", "")
    timed_by = new.join.timed_by if new.join is not None else None
    return tuple(_made_family(name, kept, keeps, timed_by) for name in keeps.families)


def _made_family(name: str, kept: Keeps, keeps: Keeps, timed_by: int | None) -> Family:
    side, _, kind = name.partition("-")
    (key, value), (key_now, value_now) = kept.families[name], keeps.families[name]
    time = _event_time(key_now, keeps.families[of_side(keeps.families, side)[0]][1], timed_by) if has_many(name) else ""
    return Family(name, name, (key, key_now), (value, value_now), (kind, kind), time=time)


def _event_time(key: Struct, value: Struct, timed_by: int | None) -> str:
    """The event time under which format 4 keeps a row, as SQL over its key and value: of a key's column, else of a value's (of a window its
    end). Without a watermark any number will do."""
    if timed_by is not None:
        return _micros("key", key["fields"][timed_by])
    columns = zip(_names(value), value["fields"], strict=True)
    return next((_micros("value", {**field, "name": name}) for name, field in columns if WATERMARK in field.get("metadata", {})), "")


def _micros(part: str, field: Struct) -> str:
    return f"unix_micros({part}.`{field['name']}`{'.end' if isinstance(field['type'], Mapping) else ''})"


def _names(struct: Struct) -> list[str]:
    """The names of its columns, each once."""
    return migrated_columns.once([field["name"] for field in struct["fields"]])


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


def _refused(query: str, operator: PlannedOperator, why: str, otherwise: str = f"{BY_FUNCTION} Or keep") -> Unsupported:
    name, how = operator_places.name_of(query, operator.id), " by columns" if otherwise else ""
    message = f"{name} ({operator.name}) cannot be migrated{how}: {why}"
    hint = f"{otherwise or 'Keep'} it as it was; or drop its state, so that it begins empty: --drop {name}."
    return Unsupported("migrate.operators", message, hint)
