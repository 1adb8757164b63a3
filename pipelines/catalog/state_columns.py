"""Columns of rows of state: a struct becomes a column for each field, each with the SQL that writes it as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.catalog.sql import NUMBER, quoted
from pipelines.domain.states import DATE, StateColumn

_TIME = re.compile(r"(TIMESTAMP.*|DATE)")


@dataclass(frozen=True)
class Field:
    """One column, and the SQL that gives its value."""

    column: StateColumn
    sql: str

    @property
    def as_json(self) -> str:
        """Its value as the text of a JSON value; a time as epoch ms, with a fraction where it has microseconds; bytes in base64."""
        if self.column.type == "BLOB":
            return f"to_json(base64({self.sql}))::VARCHAR"
        if self.column.kind != "time":
            return f"to_json({self.sql})::VARCHAR"
        whole = f"to_json(epoch_ms({self.sql}))"
        if self.column.type == DATE:
            return f"{whole}::VARCHAR"
        micros = f"epoch_us({self.sql})"
        return f"(CASE WHEN {micros} % 1000 = 0 THEN {whole} ELSE to_json({micros} / 1000) END)::VARCHAR"


def flattened(columns: Sequence[tuple[str, Any]]) -> Iterator[Field]:
    """The columns (name, DuckDB's type) with their structs flattened, in order; an empty struct is none."""
    for name, kind in columns:
        yield from _field(name, quoted(name), kind)


def structs(columns: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """The structs of the columns, with those in them: their path, and the SQL that gives their value."""
    for name, kind in columns:
        yield from _structs(name, quoted(name), kind)


def _structs(name: str, sql: str, kind: Any) -> Iterator[tuple[str, str]]:
    if kind.id == "struct":
        yield name, sql
        for inside, its in kind.children:
            yield from _structs(f"{name}.{inside}", f"{sql}.{quoted(inside)}", its)


def _field(name: str, sql: str, kind: Any) -> Iterator[Field]:
    if kind.id == "struct":
        for inside, its in kind.children:
            yield from _field(f"{name}.{inside}", f"{sql}.{quoted(inside)}", its)
        return
    type_name = str(kind)
    yield Field(StateColumn(name, type_name, _kind(type_name)), sql)


def _kind(type_name: str) -> str:
    if _TIME.fullmatch(type_name):
        return "time"
    if NUMBER.fullmatch(type_name):
        return "number"
    if type_name == "BOOLEAN":
        return "boolean"
    return "nested" if type_name.endswith("]") or type_name.startswith(("MAP(", "UNION(", "STRUCT(")) else "text"
