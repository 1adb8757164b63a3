"""Writes the batches of a stream into PostgreSQL, DuckDB or SQLite, each exactly once. Copy this file beside a job and import it:

    writer.foreachBatch(exactly_once(url, schema, "engagement", "post TEXT, views BIGINT"))

Each row keeps its batch's number, and the table `written` says which query writes to a table and how far it is. Of a batch, one
transaction (1) takes the lock that the writer before may still hold, (2) refuses where another query writes to the table, (3) deletes
the rows of this batch and of all after it, (4) inserts its rows, (5) notes it. Killed anywhere, all of that happened or nothing: the
batch that is done again replaces what it wrote, and a query that was taken back replaces what came after. A fork is another query: it
needs a schema, or a file, of its own. PostgreSQL needs `psycopg`, DuckDB `duckdb` in the requirements of the job.

Moments (Spark's TIMESTAMP) are written in UTC, whatever the driver's time zone: a column without a zone has UTC's clock. SQLite has no
decimals: give those a column of TEXT. Arrays, maps and structs are refused.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY_ID = "sql.streaming.queryId"
"""Spark's local property of the thread that runs a query's batches."""
NESTED = ("array<", "map<", "struct<", "variant")
"""How Spark's names of their types begin."""
THREADS = threading.Lock()
"""DuckDB keeps other processes out of its file; this, the other queries of the job."""
LEDGER = "target TEXT PRIMARY KEY, query TEXT NOT NULL, batch BIGINT NOT NULL"


def exactly_once(url: str, schema: str, table: str, columns: str) -> Callable[[DataFrame, int], None]:
    """For `foreachBatch`. `url` is `postgresql://…`, `duckdb:FILE` or `sqlite:FILE` (SQLite has no schemas: give a file of its own);
    `columns` are names and SQL types, in the order of the frame's. A batch's rows pass through the driver's memory."""

    def write(frame: DataFrame, batch: int) -> None:
        query = frame.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        refuse_nested(frame.dtypes)
        write_batch(url, schema, table, columns, query, batch, in_utc(frame.dtypes, frame.collect()))

    return write


def refuse_nested(dtypes: Sequence[tuple[str, str]]) -> None:
    """ValueError for a column (name, type) that these databases have in three ways, or not at all."""
    for name, kind in dtypes:
        if kind.startswith(NESTED):
            raise ValueError(f"column {name!r} is {kind}: make it a text with to_json, or columns of its own")


def in_utc(dtypes: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows as `collect` gives them, whose moments are in the driver's time zone and do not say so."""
    moments = [kind == "timestamp" for _, kind in dtypes]
    return [
        tuple(value.astimezone(UTC) if is_moment and value else value for value, is_moment in zip(row, moments, strict=True))
        for row in rows
    ]


def write_batch(url: str, schema: str, table: str, columns: str, query: str, batch: int, rows: Sequence[tuple[Any, ...]]) -> None:
    """One batch of the query with this id, in one transaction; ValueError where another query writes to the table."""
    kind = url.partition(":")[0]
    mark = "%s" if kind == "postgresql" else "?"
    within = "" if kind == "sqlite" else f'"{schema}".'
    target, ledger = f'{within}"{table}"', f'{within}"written"'
    with transaction(url) as database:
        if kind == "postgresql":  # 1: DuckDB and SQLite lock the file
            database.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (ledger,))
        if within:
            database.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        database.execute(f"CREATE TABLE IF NOT EXISTS {ledger} ({LEDGER})")
        database.execute(f"CREATE TABLE IF NOT EXISTS {target} ({columns}, batch BIGINT NOT NULL)")
        before = database.execute(f"SELECT query FROM {ledger} WHERE target = {mark}", (table,)).fetchone()
        if before and before[0] != query:  # 2
            raise ValueError(f"{target} is written by query {before[0]}: give query {query} a schema or a file of its own")
        database.execute(f"DELETE FROM {target} WHERE batch >= {mark}", (batch,))  # 3
        if rows:
            marks = ", ".join([mark] * (len(rows[0]) + 1))
            insert = f"INSERT INTO {target} VALUES ({marks})"
            inserting = database.cursor() if kind == "postgresql" else database  # a cursor of DuckDB's has transactions of its own
            inserting.executemany(insert, [(*map(plain, row), batch) for row in rows])  # 4
        database.execute(f"DELETE FROM {ledger} WHERE target = {mark}", (table,))
        database.execute(f"INSERT INTO {ledger} VALUES ({mark}, {mark}, {mark})", (table, query, batch))  # 5


def plain(value: Any) -> Any:
    """Times and decimals as text: SQLite has no other, and all three read it."""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return str(value) if isinstance(value, date | Decimal) else value


@contextmanager
def transaction(url: str) -> Iterator[Any]:
    """A connection within one transaction, which ends with the block; nothing of it stays where the block fails."""
    with THREADS if url.startswith("duckdb:") else nullcontext(), closing(connect(url)) as database:
        database.execute("BEGIN IMMEDIATE" if url.startswith("sqlite:") else "BEGIN")
        yield database
        database.execute("COMMIT")


def connect(url: str) -> Any:
    """A connection that begins no transaction by itself; closed in the middle of one, it takes that back."""
    kind, _, place = url.partition(":")
    if kind == "postgresql":
        import psycopg

        return psycopg.connect(url, autocommit=True)
    if kind not in ("sqlite", "duckdb"):
        raise ValueError(f"{url!r} is no database: give postgresql://…, duckdb:FILE or sqlite:FILE")
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    if kind == "sqlite":
        return sqlite3.connect(place, isolation_level=None, timeout=60)
    import duckdb

    return duckdb.connect(place)
