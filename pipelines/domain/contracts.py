"""Contracts: what code keeps as state, operator by operator, as Spark's own metadata and schema files say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Keeps:
    """What one operator keeps: its columns by store (`default key`), its state variables by name with their kind."""

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=dict)
    """Of one whose store has column families (state variables, formats 3 and 4 of joins) these, with key and value as structs in Spark's
    JSON."""


HOLDING = ("array", "map", "struct")
_UNIT = "(?:year|month|day|hour|minute|second)"
_COLUMN = re.compile(
    rf"(?P<name>.*?) (?P<kind>interval {_UNIT}(?: to {_UNIT})?|string collate \S+|(?:array|map|struct)<.*>|{{.*}}|\S+)", re.DOTALL
)
"""`name type`, where both may have spaces in them."""
_INNER_NAME = re.compile(r"(?<=[<,])\s*[^\s<>,]+ ")
Contract = Mapping[int, Keeps]
"""Spark's id of an operator -> what it keeps."""


def fits(kept: Contract, told: Contract) -> bool:
    """Whether code that keeps `told` explains the state `kept`: the same operators with columns of the same types, whatever their names."""
    return kept.keys() == told.keys() and all(types(kept[operator]) == types(told[operator]) for operator in kept)


def types(keeps: Keeps) -> tuple[str, list[tuple[str, list[str]]]]:
    """Spark's name of an operator and the types of its columns: equal where the state of one is, to Spark, that of the other."""
    return keeps.name, _types(keeps)


def keys(keeps: Keeps) -> tuple[str, list[tuple[str, list[str]]]]:
    """The same of its keys alone."""
    return keeps.name, [pair for pair in _types(keeps) if pair[0].endswith(" key")]


def keys_fit(before: Keeps, after: Keeps) -> bool:
    """Whether the keys have columns of the same types, whatever their names."""
    return keys(before) == keys(after)


def key_names(keeps: Keeps) -> list[str]:
    """The names of the key's columns of an operator with one store."""
    return _names(keeps, " key")


def value_names(keeps: Keeps) -> list[str]:
    """The names of the value's columns of an operator with one store."""
    return _names(keeps, " value")


def names_of(keeps: Keeps, place: str) -> list[str]:
    """The names of the columns at a place (`default key`)."""
    return [column.partition(" ")[0] for column in _columns(keeps.columns[place])]


def _names(keeps: Keeps, part: str) -> list[str]:
    return [name for place in keeps.columns if place.endswith(part) for name in names_of(keeps, place)]


def differences(before: Keeps, after: Keeps) -> Iterator[str]:
    """What `after` keeps other than `before`, in words."""
    for place in sorted({**before.columns, **after.columns}):
        was, now = before.columns.get(place, "nothing"), after.columns.get(place, "nothing")
        if was != now:
            yield f"{place}: {was} before, {now} now"


def _types(keeps: Keeps) -> list[tuple[str, list[str]]]:
    """Types alone: a renamed column is the same state to Spark, which reads by position."""
    return [(place, [_kind(column) for column in _columns(text)]) for place, text in sorted(keeps.columns.items())]


def _kind(column: str) -> str:
    """The type of `name type`, without the names within a struct."""
    parts = _COLUMN.fullmatch(column)
    return _INNER_NAME.sub("", parts["kind"] if parts else column)


def _columns(text: str) -> Iterator[str]:
    """The columns of `name type, …`; a comma inside of a type, or in the parentheses of a name, does not part them."""
    depth, opened, begin = 0, 0, 0
    for at, sign in enumerate(text):
        is_of_type = sign == "<" and text[:at].endswith(HOLDING)
        opened += is_of_type - (sign == ">" and opened > 0)
        depth += (sign in "({[") - (sign in ")}]")
        if sign == "," and depth == 0 and opened == 0:
            yield text[begin:at].strip()
            begin = at + 1
    yield text[begin:].strip()
