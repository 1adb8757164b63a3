"""Questions to a reading of state: a page of its rows, or a SELECT of somebody's own, in a DuckDB that sees nothing else."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipelines.catalog.connection import sealed
from pipelines.catalog.output_rows import of_json
from pipelines.catalog.sql import literal
from pipelines.catalog.state_columns import Field, flattened
from pipelines.catalog.tables import row
from pipelines.domain.errors import Invalid, NotFound, Unavailable
from pipelines.domain.states import StateRows
from pipelines.verbs.state import QueryState
from pipelines.verbs.state_difference import QueryStateDifference

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STATE = "state"
"""The view over a reading."""
MOST_ROWS = 10_000
"""Of one answer."""
SECONDS = 20.0
"""A question that takes longer is ended."""
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/|;", re.DOTALL)
Views = Mapping[str, Sequence[str]]
"""Parquet files by the name of the view over them."""
Asks = QueryState | QueryStateDifference
TEACHES = "The view `state` has columns key and value (structs: key.NAME, value.NAME) and partition_id: `SELECT * FROM state` shows them."


def query(views: Views, asked: Asks, *, seconds: float = SECONDS) -> StateRows:
    """The answer to `asked` over Parquet files by view; a page is of the first one. Invalid (`state.sql`, `state.only_select`,
    `state.sort`, `state.limit`), Unavailable (`state.timeout`), NotFound (`state.not_read`) where the files are gone."""
    if not 0 < asked.limit <= MOST_ROWS or asked.offset < 0:
        raise Invalid("state.limit", f"{asked.limit} rows from {asked.offset} on cannot be shown", f"Ask for 1 to {MOST_ROWS:,} rows.")
    began = time.perf_counter()
    files = [file for those in views.values() for file in those]
    with sealed(files) as db, limited(db, seconds), _viewed(db, views), refused(views):
        answer = _free(db, views, asked) if asked.sql else _page(db, next(iter(views)), asked)
    return replace(answer, took_ms=(time.perf_counter() - began) * 1000)


def _page(db: DuckDBPyConnection, view: str, asked: Asks) -> StateRows:
    fields = _fields(db, view)
    kept, values = view, []
    if asked.filter:
        kept = f"(SELECT * FROM {view} WHERE {' OR '.join(f'contains(lower({field.sql}::VARCHAR), ?)' for field in fields)})"
        values = [asked.filter.lower()] * len(fields)
    order = f"ORDER BY {_sort(fields, asked.sort)} {'DESC' if asked.descending else 'ASC'} NULLS LAST" if asked.sort else ""
    counted = row(db, f"SELECT count(*) FROM {kept}", values)
    rows, more = _rows(db, fields, f"SELECT * FROM {kept} {order}", asked.limit, asked.offset, values)
    return StateRows(tuple(field.column for field in fields), rows, counted[0] if counted else 0, more, 0.0)


def _free(db: DuckDBPyConnection, views: Collection[str], asked: Asks) -> StateRows:
    return free(db, asked.sql, asked.limit, asked.offset, views)


def free(db: DuckDBPyConnection, sql: str, limit: int, offset: int = 0, views: Collection[str] = (STATE,)) -> StateRows:
    """The answer to one SELECT of somebody's own over the `views` that `db` has."""
    text = only_select(db, sql, views)
    fields = _fields(db, f"(\n{text}\n)")
    rows, more = _rows(db, fields, text, limit, offset, [])
    return StateRows(tuple(field.column for field in fields), rows, None, more, 0.0)


def teaches(views: Collection[str]) -> str:
    """What the views have, for whoever asked something else."""
    if STATE in views:
        return TEACHES
    there = "There is the view" if len(views) == 1 else "There are the views"
    return f"{there} {', '.join(views)}: `SELECT * FROM {next(iter(views))}` shows the columns."


def only_select(db: DuckDBPyConnection, sql: str, views: Collection[str]) -> str:
    """The one statement in `sql`, without what ends it; Invalid (`state.only_select`) for any other number or kind."""
    statements = db.extract_statements(sql)
    if len(statements) != 1 or statements[0].type.name != "SELECT":
        raise Invalid(
            "state.only_select",
            f"The {' and '.join(views)} {'is' if len(views) == 1 else 'are'} only looked at: give one SELECT",
            teaches(views),
        )
    return _open_ended(str(statements[0].query))


def _open_ended(statement: str) -> str:
    """`statement` without the semicolon that ends it, and the comments behind that: it is about to stand in parentheses."""
    ends = (at for at, character in enumerate(statement) if character == ";")
    return next((statement[:at] for at in ends if not _COMMENTS.sub("", statement[at + 1 :]).strip()), statement)


def _fields(db: DuckDBPyConnection, relation: str) -> list[Field]:
    shown = db.sql(f"SELECT * FROM {relation} LIMIT 0")
    return list(flattened(list(zip(shown.columns, shown.types, strict=True))))


def _sort(fields: Sequence[Field], name: str) -> str:
    for field in fields:
        if field.column.name == name:
            return field.sql
    raise Invalid("state.sort", f"There is no column {name!r}", f"There are {', '.join(field.column.name for field in fields)}.")


def _rows(
    db: DuckDBPyConnection, fields: Sequence[Field], relation: str, limit: int, offset: int, values: Sequence[str]
) -> tuple[tuple[tuple[Any, ...], ...], bool]:
    """A page of rows as JSON's types, and whether there are more: one more than asked for is read."""
    shown = ", ".join(field.as_json for field in fields)
    page = f"SELECT * FROM (\n{relation}\n) LIMIT {limit + 1:d} OFFSET {offset:d}"
    records = db.execute(f"SELECT {shown} FROM ({page})", list(values)).fetchall()
    rows = tuple(tuple(map(of_json, record)) for record in records)
    return rows[:limit], len(rows) > limit


@contextmanager
def _viewed(db: DuckDBPyConnection, views: Views) -> Iterator[None]:
    """The views over their files; NotFound (`state.not_read`) where these are gone, also while they are read."""
    import duckdb

    try:
        for view, files in views.items():
            db.execute(f"CREATE VIEW {view} AS SELECT * FROM read_parquet([{', '.join(map(literal, files))}])")
        yield
    except (duckdb.IOException, duckdb.PermissionException) as error:
        raise NotFound("state.not_read", "The rows that were read are gone", "Read the state again.") from error


@contextmanager
def limited(db: DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupts the connection after `seconds`; Unavailable (`state.timeout`) then."""
    import duckdb

    timer = threading.Timer(seconds, db.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException as error:
        message = f"The question took more than {seconds:g} s and was ended"
        raise Unavailable("state.timeout", message, "Ask for fewer rows, or aggregate in fewer steps.") from error
    finally:
        timer.cancel()


@contextmanager
def refused(views: Collection[str]) -> Iterator[None]:
    """What DuckDB says of somebody's SQL is theirs to mend, what it says of the files is ours."""
    import duckdb

    try:
        yield
    except (duckdb.InterruptException, duckdb.OutOfMemoryException, duckdb.IOException):
        raise
    except duckdb.PermissionException as error:
        only = f"Only the {'views' if len(views) > 1 else 'view'} {', '.join(map(repr, views))} can be queried"
        raise Invalid("state.outside", f"{only}: {_first_line(error)}", teaches(views)) from error
    except duckdb.Error as error:
        raise Invalid("state.sql", _first_line(error), teaches(views)) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n\n")[0].replace("\n", " ")
