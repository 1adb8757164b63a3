"""Writes rows into tables as Arrow batches (a hundred times the speed of single inserts), and reads documents from them."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeVar, cast

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.errors import damaged
from pipelines.domain.errors import Corrupt
from pipelines.storage import documents

T = TypeVar("T")
Row = tuple[Any, ...]

TEXT = "VARCHAR"
WHOLE = "BIGINT"
REAL = "DOUBLE"
KEPT_DOCUMENTS = 8_192
Columns = Mapping[str, str]
"""Column -> its type (`TEXT`, `WHOLE` or `REAL`), in the order of a row's values."""


@contextmanager
def incoming(writer: Writer, columns: Columns, rows: Sequence[Row], more: Mapping[str, Any] | None = None) -> Iterator[None]:
    """`rows` as the view `incoming`, while the block runs; `more` are further columns, as Arrow arrays."""
    import pyarrow as pa

    values = zip(*rows, strict=True) if rows else (() for _ in columns)
    arrays = [arrow(kind, column) for kind, column in zip(columns.values(), values, strict=True)]
    made = {**dict(zip(columns, arrays, strict=True)), **(more or {})}
    writer.register("incoming", pa.RecordBatch.from_arrays(list(made.values()), names=list(made)))
    yield
    writer.unregister("incoming")  # an error ends the cursor, and the view with it


def arrow(kind: str, values: Sequence[Any]) -> Any:
    """The values of a column, None as null, in Arrow's bytes: `pyarrow.array` looks for pandas first, which takes half a second."""
    import pyarrow as pa

    present = pa.py_buffer(_bits([value is not None for value in values])) if None in values else None
    if kind == TEXT:
        texts = [b"" if value is None else value.encode() for value in values]
        ends = array("i", accumulate(map(len, texts), initial=0))
        return pa.Array.from_buffers(pa.string(), len(values), [present, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])
    code, type_ = ("q", pa.int64()) if kind == WHOLE else ("d", pa.float64())
    numbers = array(code, [0 if value is None else value for value in values])
    return pa.Array.from_buffers(type_, len(values), [present, pa.py_buffer(numbers)])


def offsets(parts: Iterable[Sized]) -> Any:
    """Where each of `parts` begins and the last one ends in all of them together: the offsets of an Arrow list."""
    import pyarrow as pa

    ends = array("i", accumulate(map(len, parts), initial=0))
    return pa.Array.from_buffers(pa.int32(), len(ends), [None, pa.py_buffer(ends)])


def lists(parts: Sequence[Sized], fields: Mapping[str, Any], *, is_null_if_empty: bool = False) -> Any:
    """A list of structs for each of `parts`; `fields` hold the values of all structs, one after the other."""
    import pyarrow as pa

    structs = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    present = pa.py_buffer(_bits([bool(part) for part in parts])) if is_null_if_empty else None
    return pa.Array.from_buffers(pa.list_(structs.type), len(parts), [present, offsets(parts).buffers()[1]], children=[structs])


def _bits(flags: Sequence[bool]) -> bytes:
    """One bit each, the lowest of a byte first."""
    return int("".join("1" if flag else "0" for flag in reversed(flags)), 2).to_bytes((len(flags) + 7) // 8, "little")


def replace(writer: Writer, table: str, columns: Columns, keys: Sequence[str], rows: Sequence[Row]) -> None:
    """Put `rows` into `table` in place of those with the same `keys`; of two incoming with one key the later stays."""
    if not rows:
        return
    at = [list(columns).index(key) for key in keys]
    newest = list({tuple(row[i] for i in at): row for row in rows}.values())
    key = f"({', '.join(keys)})"
    with incoming(writer, columns, newest):
        writer.execute(f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM incoming)")
        writer.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")


def document(value: Any) -> str:
    """`value` as the text of a `document` column."""
    return documents.encode(value).decode()


def read(kind: type[T], rows: Sequence[Row], what: str) -> list[T]:
    """The `kind` in the first column of each of `rows`; Corrupt (`catalog.damaged`) where one cannot be read."""
    try:
        return [cast(T, _decoded(cast(Hashable, kind), row[0], what)) for row in rows]
    except Corrupt as error:
        raise damaged(f"(its {what}s)", error.message) from error


@lru_cache(maxsize=KEPT_DOCUMENTS)
def _decoded(kind: Any, text: str, what: str) -> object:
    """The value of a document, cached: nobody changes it, pages ask for the same ones, and reading one costs 50 µs."""
    return documents.decode(kind, text, what)


def first(kind: type[T], reader: Reader, sql: str, values: Sequence[Any], what: str) -> T | None:
    """The document that `sql` finds first, None if it finds none."""
    first_row = row(reader, sql, values)
    return read(kind, [first_row], what)[0] if first_row else None


def row(reader: Reader, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Row | None:
    """The first row that `sql` finds. All are fetched: DuckDB refuses the cursor's next `register` while a result is left open."""
    rows: list[Row] = reader.execute(sql, values if isinstance(values, Mapping) else list(values)).fetchall()
    return rows[0] if rows else None


def dicts(reader: Reader, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
    """The rows that `sql` finds, each as a dict."""
    cursor = reader.execute(sql, values if isinstance(values, Mapping) else list(values))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
