"""Streaming queries whose state has columns of every type that `queries` lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.savepoint import queries

CONF = {"spark.sql.timeType.enabled": "true"}
KEYS = {
    "day": "date_add(DATE'2026-01-01', n % 3)",
    "money": "CAST(12345678901234567890123456789012345678 - n % 3 AS DECIMAL(38,0))",
    "number": "element_at(array(CAST('NaN' AS DOUBLE), -0.0D, 1.5D, 0.0D), n % 4 + 1)",
    "bytes": "unhex(lpad(hex(n % 3), 4, '0'))",
    "list": "array(array(named_struct('a', n % 2)), NULL)",
    "pair": "IF(n % 3 = 2, NULL, named_struct('a', n % 3, 'b', IF(n % 3 = 1, NULL, 'x')))",
    "local": "CAST(ts AS TIMESTAMP_NTZ)",
    "waited": "make_dt_interval(n % 2, 1, 2, 3.5)",
    "age": "make_ym_interval(n % 3, 3)",
    "clock": "make_time(10, n % 2, 3.123456)",
    "code": "CAST(concat('c', n % 2) AS CHAR(5))",
}
VALUES = {
    "document": "parse_json(concat('{\"a\": ', n, ', \"b\": [1, null]}'))",
    "documents": "array(parse_json(concat('', n)), NULL)",
    "nested": "map('a', array(named_struct('x', CAST(n AS DECIMAL(38,18)), 'y', make_dt_interval(n % 2, 1, 2, 3.5))), 'b', NULL)",
    "calendar": "make_interval(1, n, 0, 1, 2, 3, 4.5)",
    "collated": "IF(n % 2 = 0, 'Ab', 'aB') COLLATE UTF8_LCASE",
}
"""Column -> its value: of types that Spark takes as a key, and of those that it takes as a value alone."""
SHOWN = {"document": "to_json(document)", "documents": "to_json(documents)", "bytes": "hex(bytes)"}


def of_types(*measures: str) -> Callable[[Any, Path], Any]:
    """Rows that are deduplicated and then counted by keys of these types, with these aggregates, before the newest value of each other type
    and behind it. `later` is whether a row came after the third file."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        type(spark)._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)  # whom Spark asks whether there is TIME
        made = [f"{sql} AS {name}" for name, sql in (KEYS | VALUES).items()]
        rows = queries.timed(spark, base).selectExpr("*", "_metadata.file_name >= '003.json' AS later", *made)
        newest = [F.max_by(name, "n").alias(name) for name in VALUES]
        first, *others = [F.expr(measure) for measure in measures]
        counted = rows.dropDuplicates(["ts", "key", *KEYS]).groupBy(F.window("ts", "2 minutes"), *KEYS).agg(first, *newest, *others)
        names = sorted(measure.split(" AS ")[-1] for measure in measures)
        columns = (f"{SHOWN.get(name, f'CAST({name} AS STRING)')} AS {name}" for name in (*KEYS, *VALUES))
        return counted.selectExpr("window.start", *names, *columns)

    return query
