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


def of(spark: Any, request: Asked, default_fs: str) -> Destination:
    """The destination of a query before it starts. A missing table is created by Spark, whose catalog then has its place."""
    if request.table:
        return _table(spark, request, default_fs)
    sink = request.format or str(spark.conf.get("spark.sql.sources.default"))
    if sink.lower() in TABLE_FORMATS:
        return Destination(sink, table=request.path)
    return Destination(sink, _directory(sink, request.path, default_fs))


def require_place(destination: Destination, query: str) -> None:
    """Raises Unsupported (`sink.no_table`) where a savepoint's sink log has no directory yet to be carried into."""
    if destination.table and not destination.path:
        raise Unsupported(
            "sink.no_table",
            f"Query {query} continues output of its own, but table {destination.table} is not there yet to take it.",
            "Create the table before the query starts (CREATE TABLE IF NOT EXISTS … USING parquet), or write to a path.",
        )


def _table(spark: Any, request: Asked, default_fs: str) -> Destination:
    if not spark.catalog.tableExists(request.table):
        sink = request.format or str(spark.conf.get("spark.sql.sources.default"))
        return Destination(sink, _directory(sink, request.path, default_fs), request.table)
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {request.table}").collect()
    properties = {row["col_name"]: row["data_type"] for row in rows}
    sink = properties.get("Provider", "table").lower()
    return Destination(sink, _directory(sink, properties.get("Location", ""), default_fs), request.table)


def _directory(sink: str, path: str, default_fs: str) -> str:
    """The directory as the records have it; empty for a sink without a log of its own files."""
    if sink.lower() not in FILE_FORMATS or not path:
        return ""
    local = local_path(path, default_fs)
    return path if local is None else str(local)
