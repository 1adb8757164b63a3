"""The state variables of a transformWithState under changed code: what each holds is found again by its names.

A variable is a column family of the operator's store, beside families of Spark's own (`$count_last`). Of a value, a list or a map the
columns are kept, wider, in another place, dropped, or null where they are new; of a map's keys none may come or go. Timers stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain import operator_places, struct_columns
from pipelines.domain.contracts import Keeps
from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import BY_FUNCTION, Aggregate, Becomes
from pipelines.domain.struct_columns import Column, Struct

ENCODING, AVRO = "spark.sql.streaming.stateStore.encodingFormat", "avro"
"""Spark's conf, pinned in the offset log, and the encoding with which Spark reads other columns by itself."""
OF_VARIABLES = ("$ttl_", "$min_", "$count_", "$rowCounter_")
"""Beginnings of Spark's own families that belong to a variable, before its name."""
TTL, COUNTER, OWN = "$ttl_", "$rowCounter_", "$"
COUNT, LIST, MAP = "count", "list", "map"
VALUE, EXPIRES = "value", "ttlExpirationMs"
KEY, USER_KEY = "key", "userKey"
"""Columns of the key of a map: what its rows are grouped by, and the key within the map."""


@dataclass(frozen=True)
class Family:
    """A column family of the new state, and the one of the old state that its rows come from."""

    before: str
    after: str
    keys: tuple[Struct, Struct]
    """Before and now, as `values`."""
    values: tuple[Struct, Struct]
    kinds: tuple[str, str] = ("", "")
    """Where the user's function makes the rows, what kind of variable they are of (`value`, `list`, `map`) before and now. `count` is for
    how many rows a list has of each key, which is counted anew. Of a join what its family is called after the side."""
    places: tuple[int | None, ...] | None = None
    """Of a join's rows the place of each new column among the old ones, None for null; where that is not said names tell it."""
    time: str = ""
    """Of a join in format 4 whose rows the user's function makes, the event time that their keys end with: SQL over key and value; empty
    where there is none."""


@dataclass(frozen=True)
class Moved:
    """How the variables of the new code come out of those before."""

    variables: tuple[Aggregate, ...]
    """What becomes of each that is not as it was, column by column."""
    families: tuple[Family, ...]
    changes: bool
    """Whether something has to be rewritten; what else is new or gone Spark sees to by itself."""


def by_names(
    query: str, before: int, kept: Keeps, keeps: Keeps, *, dropped: Collection[str] = (), renamed: Mapping[str, str] | None = None
) -> Moved:
    """How the variables of `keeps` come out of those of `kept`, an operator that had the number `before`. `dropped` begin empty where they
    are there still; `renamed` has names before -> now.

    Raises Unsupported (`migrate.operators`) where the old state does not say what the new would be."""
    names = {new: old for old, new in (renamed or {}).items()}
    families, made = list[Family](), list[Aggregate]()
    changes = bool(names)
    for variable, kind in keeps.variables.items():
        old = names.get(variable, variable)
        if old not in kept.variables or old in dropped:
            changes = changes or old in kept.variables
            made.append(Aggregate(Becomes.ADDED, f"{variable} (empty)"))
            continue
        if kept.variables[old] != kind:
            raise refused(query, before, f"{old} was a {kept.variables[old]}, and is a {kind} now", old, BY_FUNCTION)
        own = list(_families(query, before, kept, keeps, old, variable))
        is_other = any(_columns(query, before, old, family) for family in own)
        changes = changes or is_other
        families += own
        if is_other or old != variable:
            made += _told(query, before, old, variable, next(family for family in own if family.after == variable))
    gone = (name for name in lost(kept, keeps, (), renamed) if name not in dropped or name not in keeps.variables)
    made += [Aggregate(Becomes.DROPPED, name) for name in gone]
    families += _timers(query, before, kept, keeps)
    return Moved(tuple(made), tuple(families), changes)


def by_function(
    query: str, before: int, kept: Keeps, keeps: Keeps, *, dropped: Collection[str] = (), renamed: Mapping[str, str] | None = None
) -> Moved:
    """The same where the user's function makes the rows of all that goes on, but for variables with a time to live: those go by names.

    Raises Unsupported (`migrate.operators`) for another key to group by, and for what is said of times to live and timers."""
    names = {new: old for old, new in (renamed or {}).items()}
    families, made = list[Family](), list[Aggregate]()
    for variable, kind in keeps.variables.items():
        old = names.get(variable, variable)
        if old not in kept.variables or old in dropped:
            made.append(Aggregate(Becomes.ADDED, f"{variable} (empty)"))
        elif f"{TTL}{old}" in kept.families or f"{TTL}{variable}" in keeps.families:
            own = list(_families(query, before, kept, keeps, old, variable))
            if any(_columns(query, before, old, family) for family in own) or old != variable:
                made += _told(query, before, old, variable, next(family for family in own if family.after == variable))
            families += own
        else:
            families += _made(query, before, kept, keeps, old, variable, (kept.variables[old], kind))
    made += [Aggregate(Becomes.DROPPED, name) for name in lost(kept, keeps, dropped, renamed) if name not in keeps.variables]
    families += _timers(query, before, kept, keeps)
    return Moved(tuple(made), tuple(families), True)


def _made(query: str, before: int, kept: Keeps, keeps: Keeps, old: str, new: str, kinds: tuple[str, str]) -> Iterator[Family]:
    """The families of one variable whose rows the user's function makes."""
    (key, value), (key_now, value_now) = kept.families[old], keeps.families[new]
    was, is_now = (_of_map(struct)[KEY] if kind == MAP else struct for struct, kind in zip((key, key_now), kinds, strict=True))
    if not struct_columns.fits(was, is_now):
        raise refused(query, before, "it groups by another key than before")
    yield Family(old, new, (key, key_now), (value, value_now), kinds)
    counter = f"{COUNTER}{new}"
    if counter in keeps.families:
        own = keeps.families[counter]
        yield Family("", counter, (own[0], own[0]), (own[1], own[1]), (COUNT, COUNT))


def lost(kept: Keeps, keeps: Keeps, dropped: Collection[str] = (), renamed: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Variables whose state nothing goes on with."""
    names = {new: old for old, new in (renamed or {}).items()}
    carried = {names.get(name, name) for name in keeps.variables} - {*dropped}
    return tuple(name for name in kept.variables if name not in carried)


def is_read_by_spark(kept: Keeps, keeps: Keeps) -> bool:
    """Whether Spark reads in `kept` what `keeps` means: variables may come and go, and those that stay are as they were."""
    try:
        return not by_names("", 0, kept, keeps).changes
    except Unsupported:
        return False


def is_avro(conf: Mapping[str, str]) -> bool:
    """Whether the confs that a checkpoint pins say that its state is kept in Avro."""
    return conf.get(ENCODING) == AVRO


def refused(query: str, before: int, why: str, variable: str = "", otherwise: str = "") -> Unsupported:
    name = operator_places.name_of(query, before)
    message = f"{name} (transformWithState) cannot be migrated by columns: {why}"
    drop = operator_places.variable_name(query, before, variable) if variable else name
    keep = f"{otherwise} Or keep" if otherwise else "Keep"
    return Unsupported("migrate.operators", message, f"{keep} it as it was; or drop it, so that it begins empty: --drop {drop}.")


def variable_of(family: str) -> str:
    """The variable that a family belongs to; the family itself where it is none of Spark's own."""
    return next((family.removeprefix(prefix) for prefix in OF_VARIABLES if family.startswith(prefix)), family)


def _families(query: str, before: int, kept: Keeps, keeps: Keeps, old: str, new: str) -> Iterator[Family]:
    """Those of one variable, its own first."""
    prefixes = ("", *(prefix for prefix in OF_VARIABLES if f"{prefix}{new}" in keeps.families or f"{prefix}{old}" in kept.families))
    for prefix in prefixes:
        was, now = kept.families.get(f"{prefix}{old}"), keeps.families.get(f"{prefix}{new}")
        if was is None or now is None:
            raise refused(query, before, f"{old} has a time to live now and had none, or the other way round", old)
        yield Family(f"{prefix}{old}", f"{prefix}{new}", (was[0], now[0]), (was[1], now[1]))


def _columns(query: str, before: int, variable: str, family: Family) -> bool:
    """Whether the rows of a family are others; raises Unsupported where the old ones do not say their keys."""
    try:
        keys, values = struct_columns.columns(*family.keys), struct_columns.columns(*family.values)
    except ValueError as error:
        raise refused(query, before, f"of {variable}, {error}", variable, BY_FUNCTION) from error
    if keys is not None and not _is_grouped_alike(*family.keys):
        raise refused(query, before, "it groups by another key than before")
    if keys is not None and not _is_whole(keys, *family.keys):
        raise refused(query, before, f"the keys within {variable} have a column more or less", variable, BY_FUNCTION)
    return keys is not None or values is not None


def _is_grouped_alike(old: Struct, new: Struct) -> bool:
    """Whether the key of a map's family goes by the same, whatever the key within the map is."""
    before, now = _of_map(old), _of_map(new)
    return bool(before and now) and struct_columns.fits(before[KEY], now[KEY])


def _of_map(key: Struct) -> Mapping[str, Struct]:
    """The two columns of a map's key, which stands alone or in an index of times to live; none of another key."""
    fields = {field["name"]: field["type"] for field in key["fields"]}
    if fields.keys() == {KEY, USER_KEY}:
        return fields
    return next((columns for kind in fields.values() if isinstance(kind, Mapping) and "fields" in kind and (columns := _of_map(kind))), {})


def _is_whole(columns: Sequence[Column], old: Struct, new: Struct) -> bool:
    """Whether each old column has one new one; within structs, too."""
    if len(old["fields"]) != len(new["fields"]) or any(column.at is None for column in columns):
        return False
    return all(_is_whole(column.inner, column.was, column.kind) for column in columns if column.inner is not None)


def _told(query: str, before: int, old: str, new: str, family: Family) -> Iterator[Aggregate]:
    """What becomes of the columns of a variable: those of the user's struct, which Spark wraps where it has a time to live."""
    name = new if old == new else f"{new} (was {old})"
    was, now = (_user(struct) for struct in family.values)
    yield from (Aggregate(becomes, text) for becomes, text in struct_columns.told(was, now, name))
    if struct_columns.columns(*family.keys) is not None:
        yield Aggregate(Becomes.KEPT, f"{name}'s key (with other columns)")


def _user(value: Struct) -> Struct:
    fields = {field["name"]: field["type"] for field in value["fields"]}
    inner = fields.get(VALUE)
    return inner if fields.keys() == {VALUE, EXPIRES} and isinstance(inner, Mapping) else value


def _timers(query: str, before: int, kept: Keeps, keeps: Keeps) -> Iterator[Family]:
    """Spark's own families that belong to no variable."""
    own = {name for name in (*kept.families, *keeps.families) if name.startswith(OWN) and variable_of(name) == name}
    for name in sorted(own):
        if name not in keeps.families:
            raise refused(query, before, "it has no timers any more, or those of another time")
        if name in kept.families:
            (key, value), (key_now, value_now) = kept.families[name], keeps.families[name]
            yield Family(name, name, (key, key_now), (value, value_now))
