"""Decides by names and types how the columns of two outputs are compared. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.catalog import interval_columns
from pipelines.catalog.sql import NUMBER, quoted
from pipelines.domain.errors import Incompatible, Invalid

_KEY_TYPE = re.compile(r"(TIMESTAMP.*|DATE|VARCHAR|BOOLEAN|UUID)")
_WINDOW = re.compile(r'STRUCT\("?start"? TIMESTAMP.*, "?end"? TIMESTAMP.*\)')


@dataclass(frozen=True)
class Column:
    """A column that both outputs have: its name, its type in A, and what it is called while they are compared."""

    name: str
    type: str
    at: str
    interval: Any = None
    """Its type in Spark's JSON, where it holds intervals as numbers."""

    @property
    def is_measure(self) -> bool:
        """A number that is not an id."""
        return NUMBER.fullmatch(self.type) is not None and not _is_id(self.name)

    @property
    def may_be_key(self) -> bool:
        """Something that can name a row: an id, a time, a text, a window."""
        return _is_id(self.name) or bool(_KEY_TYPE.fullmatch(self.type) or _WINDOW.fullmatch(self.type))


@dataclass(frozen=True)
class TimeColumn:
    """The column of event time: its name for people, and its value in ms as SQL over a side's own columns."""

    name: str
    sql_ms: str


def shared(a: Mapping[str, str], b: Mapping[str, str], intervals: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns that both have, in A's order; Incompatible if there are none (`compare.columns`), or if intervals of one are something
    else in the other (`compare.types`)."""
    names = [name for name in a if name in b]
    if not names:
        raise Incompatible(
            "compare.columns",
            f"The outputs have no column in common: A has {', '.join(a)}; B has {', '.join(b)}",
            "Compare jobs that write the same query.",
        )
    interval_columns.check(a, b, names)
    return tuple(Column(name, a[name], f"c{place}", intervals.get(name)) for place, name in enumerate(names))


def time_column(columns: Sequence[Column], asked: str) -> TimeColumn | None:
    """The column asked for, else `window_end`, else a window's end, else the first timestamp; None if there is none.

    `window.end` asks for the end of a struct. Invalid (`compare.time_column`) if the column asked for is no time.
    """
    times = {
        column.name: TimeColumn(column.name, _ms(quoted(column.name)))
        for column in columns
        if column.type.startswith(("TIMESTAMP", "DATE"))
    }
    windows = {f"{column.name}.end": _window_end(column) for column in columns if _WINDOW.fullmatch(column.type)}
    if not asked:
        known = {name: times[name] for name in ("window_end",) if name in times} | windows | times
        return next(iter(known.values()), None)
    chosen = (times | windows).get(asked) or windows.get(f"{asked}.end")
    if chosen is None:
        offered = ", ".join([*times, *windows]) or "none"
        raise Invalid("compare.time_column", f"{asked!r} is not a time column of both outputs", f"Those that are: {offered}.")
    return chosen


def asked_keys(columns: Sequence[Column], names: Sequence[str]) -> tuple[Column, ...]:
    """The columns of these names; Invalid (`compare.keys`) for one that the outputs do not share."""
    known = {column.name: column for column in columns}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Invalid("compare.keys", f"No column of both outputs: {', '.join(unknown)}", f"Both have: {', '.join(known)}.")
    return tuple(known[name] for name in dict.fromkeys(names))


def apart(a: Mapping[str, str], b: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that one side lacks, or that have another type there."""
    return tuple(name for name in {**a, **b} if a.get(name) != b.get(name))


def differences(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """Sentences on columns that one side lacks, or that have another type there."""
    only_a, only_b = [name for name in a if name not in b], [name for name in b if name not in a]
    other = [f"{name} ({a[name]} in A, {b[name]} in B)" for name in a if name in b and a[name] != b[name]]
    sentences = []
    if only_a:
        sentences.append(f"Only A has the columns {', '.join(only_a)}: not compared.")
    if only_b:
        sentences.append(f"Only B has the columns {', '.join(only_b)}: not compared.")
    if other:
        sentences.append(f"Of other type: {', '.join(other)}.")
    return sentences


def _is_id(name: str) -> bool:
    return name.lower() == "id" or name.lower().endswith("_id")


def _window_end(column: Column) -> TimeColumn:
    return TimeColumn(f"{column.name}.end", _ms(f'{quoted(column.name)}."end"'))


def _ms(sql: str) -> str:
    return f"epoch_ms({sql})"
