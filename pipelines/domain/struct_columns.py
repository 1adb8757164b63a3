"""How the columns of a struct of state become those of another one, found again by their names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.domain.migrations import Becomes
from pipelines.domain.types import is_wider

Struct = Mapping[str, Any]
"""A struct in Spark's JSON."""


@dataclass(frozen=True)
class Column:
    """A column of a new struct."""

    name: str
    kind: Any
    """Its type, in Spark's JSON."""
    at: int | None = None
    """Its place in the old struct; None where it is new, and null."""
    was: Any = None
    """Its type there."""
    inner: tuple[Column, ...] | None = None
    """Of a struct with other columns, these; None where its bytes stay."""


def columns(old: Struct, new: Struct) -> tuple[Column, ...] | None:
    """The columns of `new`, found in `old`; None where Spark, which reads by position, reads in `old` what `new` means.

    Raises ValueError, with the reason, for a column of a type that is neither the same nor wider."""
    if fits(old, new):
        return None
    places = {field["name"]: (at, field["type"]) for at, field in enumerate(old["fields"])}
    if len(places) < len(old["fields"]):
        raise ValueError("a name comes twice among its columns")
    return tuple(_column(field["name"], field["type"], places.get(field["name"])) for field in new["fields"])


def placed(old: Struct, new: Struct, places: Sequence[int | None]) -> tuple[Column, ...]:
    """The columns of `new`, with the place in `old` that is said of each."""
    fields, was = new["fields"], old["fields"]
    return tuple(
        Column(field["name"], field["type"]) if at is None else Column(field["name"], field["type"], at, was[at]["type"])
        for field, at in zip(fields, places, strict=True)
    )


def fits(old: Struct, new: Struct) -> bool:
    """Whether both have the same columns, or some that were renamed: of the same types, and none of a name in another place."""
    before, after = old["fields"], new["fields"]
    names = [field["name"] for field in before], [field["name"] for field in after]
    stay = all(names[1].index(name) == at for at, name in enumerate(names[0]) if name in names[1])
    return len(before) == len(after) and stay and all(_same(a["type"], b["type"]) for a, b in zip(before, after, strict=True))


def told(old: Struct, new: Struct, path: str) -> Iterator[tuple[Becomes, str]]:
    """What becomes of each column, named from `path` on; raises ValueError as `columns`."""
    made = columns(old, new)
    names = [field["name"] for field in new["fields"]]
    if made is None:
        yield from ((Becomes.KEPT, f"{path}.{name}") for name in names)
        return
    for column in made:
        yield from _told(column, f"{path}.{column.name}")
    yield from ((Becomes.DROPPED, f"{path}.{field['name']}") for field in old["fields"] if field["name"] not in names)


def _told(column: Column, name: str) -> Iterator[tuple[Becomes, str]]:
    if column.at is None:
        yield Becomes.ADDED, f"{name} (null)"
    elif column.inner is not None:
        yield from told(column.was, column.kind, name)
    else:
        yield (Becomes.KEPT if _same(column.was, column.kind) else Becomes.WIDENED), name


def _column(name: str, kind: Any, place: tuple[int, Any] | None) -> Column:
    if place is None:
        return Column(name, kind)
    at, was = place
    if _same(was, kind):
        return Column(name, kind, at, was)
    if _is(was, "struct") and _is(kind, "struct"):
        return Column(name, kind, at, was, columns(was, kind))
    if not is_wider(json.dumps(was), json.dumps(kind)):
        raise ValueError(f"{name} is of another type, and not of a wider one")
    return Column(name, kind, at, was)


def _same(old: Any, new: Any) -> bool:
    """Whether the bytes of one are those of the other, whatever may be null in them."""
    if _is(old, "struct") and _is(new, "struct"):
        return fits(old, new)
    if _is(old, "array") and _is(new, "array"):
        return _same(old["elementType"], new["elementType"])
    if _is(old, "map") and _is(new, "map"):
        return _same(old["keyType"], new["keyType"]) and _same(old["valueType"], new["valueType"])
    return bool(old == new)


def _is(kind: Any, name: str) -> bool:
    return isinstance(kind, Mapping) and kind.get("type") == name
