"""Columns of an answer about state: structs become a column a field, each with how it leaves as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.catalog.output_files import quoted
from pipelines.domain.states import StateColumn

_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\))")
_TIME = re.compile(r"(TIMESTAMP.*|DATE)")


@dataclass(frozen=True)
class Field:
    """One column, and the SQL that gives its value."""

    column: StateColumn
    sql: str

    @property
    def as_json(self) -> str:
        """Its value as the text of a JSON value; a time as epoch ms."""
        value = f"epoch_ms({self.sql})" if self.column.kind == "time" else self.sql
        return f"to_json({value})::VARCHAR"


def flattened(columns: Sequence[tuple[str, Any]]) -> Iterator[Field]:
    """The columns (name, DuckDB's type) with their structs taken apart, in order; an empty struct is none."""
    for name, kind in columns:
        yield from _field(name, quoted(name), kind)


def _field(name: str, sql: str, kind: Any) -> Iterator[Field]:
    if kind.id == "struct":
        for inside, its in kind.children:
            yield from _field(f"{name}.{inside}", f"{sql}.{quoted(inside)}", its)
        return
    said = str(kind)
    yield Field(StateColumn(name, said, _kind(said)), sql)


def _kind(said: str) -> str:
    if _TIME.fullmatch(said):
        return "time"
    if _NUMBER.fullmatch(said):
        return "number"
    if said == "BOOLEAN":
        return "boolean"
    return "nested" if said.endswith("]") or said.startswith(("MAP(", "UNION(", "STRUCT(")) else "text"
