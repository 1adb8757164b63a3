"""Where a query is about to write: the format, the directory of a file sink, the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.domain.errors import Unsupported
from pipelines.driver.intercept import Asked
from pipelines.driver.sinks import FILE_FORMATS, local_path

TABLE_FORMATS = frozenset({"delta", "iceberg", "hudi"})


@dataclass(frozen=True)
class Destination:
    """`sink` is Spark's format, `path` the directory of a file sink (also of a table of files), `table` a table's name or its path."""

    sink: str
    path: str = ""
    table: str = ""


def of(spark: Any, asked: Asked, default_fs: str) -> Destination:
    """As far as it can be told before the start: Spark makes a table that there is not yet, and its catalog then says where."""
    if asked.table:
        return _table(spark, asked, default_fs)
    sink = asked.format or str(spark.conf.get("spark.sql.sources.default"))
    if sink.lower() in TABLE_FORMATS:
        return Destination(sink, table=asked.path)
    return Destination(sink, _directory(sink, asked.path, default_fs))


def require_place(destination: Destination, query: str) -> None:
    """Raises Unsupported (`sink.no_table`) where a savepoint's sink log has no directory yet to be carried into."""
    if destination.table and not destination.path:
        raise Unsupported(
            "sink.no_table",
            f"Query {query} continues output of its own, but table {destination.table} is not there yet to take it.",
            "Create the table before the query starts (CREATE TABLE IF NOT EXISTS … USING parquet), or write to a path.",
        )


def _table(spark: Any, asked: Asked, default_fs: str) -> Destination:
    if not spark.catalog.tableExists(asked.table):
        sink = asked.format or str(spark.conf.get("spark.sql.sources.default"))
        return Destination(sink, _directory(sink, asked.path, default_fs), asked.table)
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {asked.table}").collect()
    said = {row["col_name"]: row["data_type"] for row in rows}
    sink = said.get("Provider", "table").lower()
    return Destination(sink, _directory(sink, said.get("Location", ""), default_fs), asked.table)


def _directory(sink: str, path: str, default_fs: str) -> str:
    """The directory as the records have it; empty for a sink without a log of its own files."""
    if sink.lower() not in FILE_FORMATS or not path:
        return ""
    local = local_path(path, default_fs)
    return path if local is None else str(local)
