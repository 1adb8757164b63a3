"""A judge's SQL over the rows of a query as of one batch: a DuckDB that sees nothing else, and one SELECT whose rows are what is wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.catalog import exact_numbers, output_files, states
from pipelines.catalog.connection import scratch, sealed
from pipelines.catalog.output_files import Options, Output, unreadable
from pipelines.catalog.sql import literal, quoted
from pipelines.domain.errors import Unsupported
from pipelines.domain.states import StateRows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HUGE = re.compile(r"\bHUGEINT\b(?!\")")
"""In the name of a type, but not as a field's quoted name."""


@dataclass(frozen=True)
class Rows:
    """What is judged: data files (absolute paths) of one format, under the name of a view. `like` are files with the same columns, for a
    batch before which nothing was written."""

    view: str
    format: str
    files: tuple[str, ...]
    like: tuple[str, ...] = ()
    options: Options = None
    """Of the sink that wrote them."""


def require_select(sql: str, view: str) -> None:
    """Raises Invalid (`state.sql`, `state.only_select`) for what is not one SELECT that DuckDB can parse. Nothing is read."""
    with sealed(()) as db, states.refused((view,)):
        states.only_select(db, sql, (view,))


def as_parquet(rows: Rows, path: str) -> Rows:
    """The same rows in the one Parquet file `path`, for a process that may take little memory: DuckDB takes 32 MiB for every JSON file.
    Numbers that a DOUBLE does not hold are decimals there, or texts where no decimal holds them."""
    import duckdb

    output_files.let_read(rows.files, rows.like)
    with scratch() as db:
        read = _relation(db, rows)
        try:
            _copy(db, read, "DECIMAL(38, 0)", path)
        except duckdb.ConversionException:
            _copy(db, read, "VARCHAR", path)
        except _unreadable() as error:
            raise unreadable(error) from error
    return replace(rows, format="parquet", files=(path,), like=())


def _copy(db: DuckDBPyConnection, read: Output, huge: str, path: str) -> None:
    """Writes the rows with whole numbers beyond BIGINT as `huge`: DuckDB would write them as DOUBLE."""
    kinds = {name: _HUGE.sub(huge, kind) for name, kind in read.columns.items() if _HUGE.search(kind)}
    cast = ", ".join(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}" for name, kind in kinds.items())
    exact = f"REPLACE ({cast})" if cast else ""
    db.execute(f"COPY (SELECT * {exact} FROM {read.relation}) TO {literal(path)} (FORMAT parquet)")


def judge(rows: Rows, sql: str, limit: int) -> StateRows:
    """The rows that `sql` gives, at most `limit`. Raises what `states.query` raises, and Corrupt (`compare.file_missing`,
    `compare.file_damaged`)."""
    began = time.perf_counter()
    files = [*rows.files, *rows.like]
    with sealed(files) as db, states.limited(db, states.SECONDS), _viewed(db, rows), states.refused((rows.view,)):
        answer = states.free(db, sql, limit, views=(rows.view,))
    return replace(answer, took_ms=(time.perf_counter() - began) * 1000)


@contextmanager
def _viewed(db: DuckDBPyConnection, rows: Rows) -> Iterator[None]:
    relation = _relation(db, rows).relation
    try:
        db.execute(f"CREATE VIEW {quoted(rows.view)} AS SELECT * FROM {relation}")
        yield
    except _unreadable() as error:
        raise unreadable(error) from error


def _relation(db: DuckDBPyConnection, rows: Rows) -> Output:
    """The rows, or the columns without any; Unsupported (`bisect.no_rows`) where nothing was ever written, and (`compare.remote`) where it
    lies elsewhere."""
    for file in filter(output_files.is_elsewhere, (*rows.files, *rows.like)):
        raise output_files.remote(file)
    written = output_files.output(db, rows.files, rows.format, rows.options)
    known = output_files.output(db, rows.like, rows.format, rows.options) if written is None else written
    if known is None:
        raise Unsupported("bisect.no_rows", "Nothing was ever written: there are no rows to judge", "Choose another query.")
    exact = exact_numbers.exact(db, known, None, rows.format)[0] or known
    return exact if written is not None else exact.emptied()


def _unreadable() -> tuple[type[Exception], ...]:
    """What DuckDB raises for a data file that its format cannot read."""
    import duckdb

    return duckdb.IOException, duckdb.InvalidInputException
