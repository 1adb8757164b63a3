"""The text of any value: aligned `name  value` lines for a dataclass, a table for several, or the registered text of its type."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from pipelines.cli import output, shelves
from pipelines.cli.output import Table
from pipelines.words import formats

F = TypeVar("F", bound=Callable[..., Any])
Describes = Callable[[Any, int], str | Table]
LEAST_EPOCH_MS = 100_000_000_000
"""What is called `_ms` and is more is a time (since 1973), what is less a duration (under three years)."""
_described: dict[type, Describes] = {}


def describes(*kinds: type) -> Callable[[F], F]:
    """The decorated function gives the text of a value of these types, and of epoch ms now."""

    def add(function: F) -> F:
        for kind in kinds:
            _described[kind] = function
        return function

    return add


def described(value: Any, now_ms: int) -> str | Table:
    """A value as people read it; nothing for None and for no rows."""
    describes = _describing(type(value))
    if describes is not None:
        return describes(value, now_ms)
    if value is None:
        return ""
    if _is_record(value):
        return _record(_items(value), now_ms)
    if _is_list(value):
        return _rows(value, now_ms)
    return cell("", value, now_ms)


def _describing(kind: type) -> Describes | None:
    """The registered text of a type."""
    shelves.about(kind.__name__)
    return _described.get(kind)


def text(value: Any, now_ms: int) -> str:
    """`described` as plain text."""
    shown = described(value, now_ms)
    return shown.plain() if isinstance(shown, Table) else shown


def cell(name: str, value: Any, now_ms: int) -> str:
    """One value in the unit that its field's name ends with."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(name, value, now_ms)
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {cell('', inner, now_ms)}" for key, inner in value.items()) or formats.MISSING
    if _is_list(value):
        return ", ".join(cell(name, inner, now_ms) for inner in value) or formats.MISSING
    return formats.MISSING if value in (None, "") else str(value)


def _number(name: str, value: float, now_ms: int) -> str:
    if name.endswith("_ms"):
        return formats.when(round(value), now_ms, None) if value >= LEAST_EPOCH_MS else formats.duration(value)
    if name == "bytes" or name.endswith("_bytes"):
        return formats.size(value)
    if name.endswith("_rate"):
        return formats.rate(value)
    return formats.count(value) if isinstance(value, int) else f"{value:,.2f}"


def _record(items: Iterable[tuple[str, Any]], now_ms: int) -> str:
    """The non-empty plain fields of a record as lines, then each field that holds records, under its name."""
    lines, blocks = [], []
    for name, value in items:
        if _is_nested(value):
            block = text(value, now_ms)
            blocks += [f"{_called(name)}:\n{block}"] if block else []
        elif value not in (None, "", (), [], {}):
            lines.append((_called(name), cell(name, value, now_ms)))
    return "\n\n".join(filter(None, [output.details(lines), *blocks]))


def _rows(values: Sequence[Any], now_ms: int) -> str | Table:
    """A table of records, by their plain fields; lines of anything else."""
    kinds = {type(value) for value in values}
    if not values or not all(map(_is_record, values)) or len(kinds) > 1 or any(map(_describing, kinds)):
        texts = [text(value, now_ms) for value in values]
        return ("\n\n" if any("\n" in part for part in texts) else "\n").join(texts)
    rows = [dict(_items(value)) for value in values]
    shown = [name for name in rows[0] if not any(_is_nested(row[name]) for row in rows)]
    numbers = {name for name in shown if all(isinstance(row[name], int | float | None) for row in rows)}
    titles = tuple(_called(name).upper() + (">" if name in numbers else "") for name in shown)
    return Table(titles, [[cell(name, row[name], now_ms) for name in shown] for row in rows])


def _called(name: str) -> str:
    return "size" if name == "bytes" else name.removesuffix("_ms").replace("_", " ")


def _items(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(key), inner) for key, inner in value.items()]
    return [(part.name, getattr(value, part.name)) for part in fields(value)]


def _is_record(value: Any) -> bool:
    return isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_nested(value: Any) -> bool:
    """Whether it is, or holds, a record of more than plain values."""
    if _is_list(value):
        return any(map(_is_record, value))
    inner = value.values() if isinstance(value, Mapping) else ()
    return any(map(_is_record, inner)) or (_is_record(value) and not isinstance(value, Mapping))
