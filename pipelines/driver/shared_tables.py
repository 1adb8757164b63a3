"""Refuses to let a fork write to its parent's table, whatever its code calls it: that takes the fork's rows as another query's."""

from __future__ import annotations

from typing import Any

from pipelines.domain.errors import Conflict
from pipelines.domain.run_specs import ANY_TABLE, RunSpec
from pipelines.driver.destinations import Destination
from pipelines.driver.sinks import local_path


def refuse(spec: RunSpec, spark: Any, query: str, wrote: Destination, default_fs: str) -> None:
    """Raises Conflict (`sink.taken`) where the query would write to the table of `spec.own_tables`, by a name or a URL."""
    taken = spec.own_tables.get(query, ANY_TABLE)
    if taken == ANY_TABLE or wrote.path or not wrote.table:
        return
    here = _place(spark, wrote.table, default_fs)
    if here and not _is_in(here, spec.warehouse) and here == _place(spark, taken, default_fs):
        message = f"Query {query} would write to the table {wrote.table}, where the job that it was forked from writes ({taken})."
        raise Conflict("sink.taken", message, "Name the table in the job's arguments, and give the fork another one there.")


def _place(spark: Any, table: str, default_fs: str) -> str:
    """Where the table is that a name, a path or a URL means; empty where there is none of that name."""
    from pyspark.errors import AnalysisException

    if "/" in table:
        return str(local_path(table, default_fs) or table.rstrip("/"))
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    except AnalysisException:  # no such table, or no such catalog here
        return ""
    location = {row["col_name"]: row["data_type"] for row in rows}.get("Location", "")
    return str(local_path(location, default_fs) or location.rstrip("/")) if location else table.replace("`", "").casefold()


def _is_in(place: str, warehouse: str) -> bool:
    return bool(warehouse) and place.startswith(f"{warehouse.rstrip('/')}/")
