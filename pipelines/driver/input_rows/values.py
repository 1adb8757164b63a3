"""The first rows of a frame as text that is bounded in number, width and length."""

from __future__ import annotations

import codecs
from typing import Any

from pipelines.domain.input_rows import MOST_CHARS, MOST_COLUMNS, InputColumn, SourceRows

NESTED = ("array", "map", "struct", "variant")
"""Types (by their names: not every Spark has a class for each) whose text is JSON."""
BYTES = "binary"
FILE = "file of the row"
"""The column that says which file a row stands in."""


def first_rows(source: str, frame: Any, limit: int) -> SourceRows:
    """At most `limit` rows; Spark computes no more than it needs for one more."""
    from pyspark.sql import functions as F

    fields = list(frame.schema)
    shown = [_text(F, F.col(name), field) for name, field in zip(_positions(fields), fields[:MOST_COLUMNS], strict=False)]
    plain = frame.toDF(*_positions(fields))
    taken = [tuple(row) for row in plain.select(*shown, F.input_file_name()).limit(limit + 1).collect()]
    columns = [InputColumn(field.name, field.dataType.simpleString()) for field in fields[:MOST_COLUMNS]]
    rows = [[*_readable(row[:-1]), row[-1]] for row in taken[:limit]]
    if any(row[-1] for row in rows):
        columns = [*columns, InputColumn(FILE, "string")]
    rows = [row[: len(columns)] for row in rows]
    cut = sum(len(value) > MOST_CHARS for row in rows for value in row if value is not None)
    bounded = tuple(tuple(None if value is None else value[:MOST_CHARS] for value in row) for row in rows)
    return SourceRows(source, tuple(columns), bounded, len(taken) > limit, cut, max(0, len(fields) - MOST_COLUMNS))


def _positions(fields: list[Any]) -> list[str]:
    """Names without doubt: those of a source may be anything."""
    return [f"c{at}" for at in range(len(fields))]


def _text(F: Any, column: Any, field: Any) -> Any:
    kind = field.dataType.typeName()
    if kind == BYTES:
        return F.substring(column, 1, MOST_CHARS + 1)
    return F.substring(F.to_json(column) if kind in NESTED else column.cast("string"), 1, MOST_CHARS + 1)


def _readable(row: tuple[Any, ...]) -> list[str | None]:
    return [_decoded(value) if isinstance(value, bytes | bytearray) else value for value in row]


def _decoded(value: bytes | bytearray) -> str:
    """Bytes as UTF-8, where they are that as far as they go; else as digits."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(bytes(value))
    except UnicodeDecodeError:
        return f"0x{bytes(value).hex()}"
