"""Where a query is about to write: the format, the directory of a file sink, the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.domain import csv_options, iceberg, kafka
from pipelines.domain.errors import Unsupported
from pipelines.domain.iceberg import ICEBERG
from pipelines.domain.sinks import FILE_SINKS
from pipelines.driver.intercept import Asked
from pipelines.driver.sinks import local_path
from pipelines.driver.warehouse import literal, quoted

TABLE_FORMATS = frozenset({"delta", ICEBERG, "hudi"})
SESSION_CATALOG = "spark_catalog"


@dataclass(frozen=True)
class Destination:
    """`sink` is Spark's format, `path` the directory of a file sink (also of a table of files, or an Iceberg table), `table` a table's name
    or its path, with its branch, or a Kafka topic."""

    sink: str
    path: str = ""
    table: str = ""
    options: Mapping[str, str] | None = None
    """As `QueryStarted.sink_options`."""


def make_table(spark: Any, request: Asked, frame: Any) -> None:
    """Creates a missing table of files as `DataStreamWriter.toTable` would, so that its place is known before the query starts."""
    form = request.format or _default_format(spark)
    if form.lower() not in FILE_SINKS or not _in_session_catalog(spark, request.table) or spark.catalog.tableExists(request.table):
        return
    columns = frame._jdf.schema().asNullable().toDDL()
    partitions = f" PARTITIONED BY ({', '.join(map(quoted, request.partition_by))})" if request.partition_by else ""
    location = f" LOCATION {literal(request.path)}" if request.path else ""
    spark.sql(f"CREATE TABLE {request.table} ({columns}) USING {form}{partitions}{location}")


def of(spark: Any, request: Asked, default_fs: str) -> Destination:
    """The destination of a query before it starts. A missing table is created by Spark, whose catalog then has its place."""
    if request.table:
        return _table(spark, request, default_fs)
    sink = request.format or _default_format(spark)
    if sink.lower() == kafka.KAFKA:
        return Destination(sink, table=request.options.get(kafka.TOPIC, kafka.BY_ROW))
    if sink.lower() == ICEBERG and request.path:
        return _iceberg(spark, request, default_fs)
    if sink.lower() in TABLE_FORMATS:
        local = local_path(request.path, default_fs) if request.path else None
        return Destination(sink, table=request.path if local is None else str(local))
    zone = spark.conf.get("spark.sql.session.timeZone") if sink.lower() == csv_options.CSV else ""
    options = csv_options.noted(request.options, zone) if zone else None
    return Destination(sink, _directory(sink, request.path, default_fs), options=options)


def require_place(destination: Destination, query: str) -> None:
    """Raises Unsupported (`sink.no_table`) where a savepoint's sink log has no directory yet to be carried into."""
    if destination.table and not destination.path:
        raise Unsupported(
            "sink.no_table",
            f"Query {query} continues output of its own, but table {destination.table} is not there yet to take it.",
            "Create the table before the query starts (CREATE TABLE IF NOT EXISTS … USING parquet), or write to a path.",
        )


def _iceberg(spark: Any, request: Asked, default_fs: str) -> Destination:
    """Iceberg takes a table's name as a path, too."""
    named, branch = iceberg.split(request.path)
    branch = request.options.get("branch", branch)
    if "/" not in named:
        return _table(spark, replace(request, table=iceberg.on_branch(named, branch), options={}), default_fs)
    local = local_path(named, default_fs)
    folder = named if local is None else str(local)
    return Destination(ICEBERG, folder, iceberg.on_branch(folder, branch))


def _table(spark: Any, request: Asked, default_fs: str) -> Destination:
    if not spark.catalog.tableExists(request.table):
        sink = request.format or _default_format(spark)
        return Destination(sink, _directory(sink, request.path, default_fs), request.table)
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {request.table}").collect()
    properties = {row["col_name"]: row["data_type"] for row in rows}
    sink = properties.get("Provider", "table").lower()
    return Destination(sink, _directory(sink, properties.get("Location", ""), default_fs), request.table)


def _directory(sink: str, path: str, default_fs: str) -> str:
    """The directory as the records have it: a path of this machine, or a URL; empty for a sink without a log of its own files, and for all
    tables but Iceberg's."""
    if sink.lower() not in (*FILE_SINKS, ICEBERG) or not path:
        return ""
    local = local_path(path, default_fs)
    if local is not None:
        return str(local)
    return f"{default_fs.rstrip('/')}{path}" if path.startswith("/") else path


def _default_format(spark: Any) -> str:
    return str(spark.conf.get("spark.sql.sources.default"))


def _in_session_catalog(spark: Any, table: str) -> bool:
    """Whether the table's name leads to the session's own catalog, not to one that was configured beside it."""
    parts = spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(table)
    first = str(parts.head())
    if parts.size() > 1 and (first == SESSION_CATALOG or spark.conf.get(f"spark.sql.catalog.{first}", None)):
        return first == SESSION_CATALOG
    return bool(spark.catalog.currentCatalog() == SESSION_CATALOG)
