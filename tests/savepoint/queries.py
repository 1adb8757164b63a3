"""Streaming queries for the matrix of exactness: every stateful operator that Spark has, over a fixed input that shows each slip.

Each takes a session and the folder of its inputs. A file is a batch, two minutes of event time long.
"""

from __future__ import annotations

import io
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

SCHEMA = "key STRING, ts TIMESTAMP, n INT"
PARQUET_SCHEMA = {"key": pyarrow.string(), "ts": pyarrow.timestamp("us", "UTC"), "n": pyarrow.int32()}
FORMAT = "tests.input.format"
"""The conf that says as what the files of the inputs are written and read; as JSON without it."""
TEXT, CSV, PARQUET = ({FORMAT: name} for name in ("text", "csv", "parquet"))
DELAY = "4 minutes"
FILES = 8
"""Batches with data; a batch without data, which only moves the watermark, follows."""


def write_events(folder: Path, first: int = 0, files: int = FILES, seed: int = 0, form: str = "json") -> Path:
    """Files whose rows are out of order, doubled, just in time, just too late, and far too late.

    Their modification times are a second apart, so that Spark's order is fixed. What is late is measured by the watermark of the
    batch before: the row nine minutes old is dropped only where no batch lost the watermark that it had moved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for batch in range(first, first + files):
        begin = 60 + 2 * batch
        minutes = [begin, begin + 1, begin + 0.5, begin - 1.5, begin - 3, begin - 7.5, begin - 9, begin - 20]
        rows = [_row(f"k{(index + batch * 2 + seed) % 3}", minute, batch * 10 + index) for index, minute in enumerate(minutes)]
        again = _row(f"k{batch % 3}", begin, 5)
        file = folder / f"{batch:03d}.json"
        file.write_bytes(encoded([*rows, again, again], form))
        os.utime(file, (1_767_225_600 + batch, 1_767_225_600 + batch))
    return folder


def encoded(rows: list[dict[str, object]], form: str) -> bytes:
    """The rows as a file of JSON, of lines of text that are JSON, of CSV without a header, or of Parquet."""
    if form == "parquet":
        file = io.BytesIO()
        columns = pyarrow.Table.from_pylist([{**row, "ts": datetime.fromisoformat(str(row["ts"]))} for row in rows])
        pyarrow.parquet.write_table(columns.cast(pyarrow.schema(PARQUET_SCHEMA)), file)
        return file.getvalue()
    lines = (",".join(map(str, row.values())) if form == "csv" else json.dumps(row) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _row(key: str, minute: float, n: int) -> dict[str, object]:
    at = f"2026-01-01T{int(minute) // 60:02d}:{int(minute) % 60:02d}:{round(minute % 1 * 60):02d}Z"
    return {"key": key, "ts": at, "n": n}


def events(spark: Any, base: Path, folder: str = "events", name: str | None = None) -> Any:
    reader = spark.readStream if name is None else spark.readStream.name(name)
    reader, place = reader.option("maxFilesPerTrigger", 1), str(base / folder)
    form = spark.conf.get(FORMAT, "json")
    return of_lines(reader.text(place)) if form == "text" else reader.schema(SCHEMA).format(form).load(place)


def of_lines(lines: Any) -> Any:
    from pyspark.sql import functions as F

    return lines.select(F.from_json("value", SCHEMA).alias("row")).select("row.*")


def timed(spark: Any, base: Path, folder: str = "events") -> Any:
    return events(spark, base, folder).withWatermark("ts", DELAY)


def windowed(spark: Any, base: Path) -> Any:
    from pyspark.sql import functions as F

    counted = timed(spark, base).groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum"), F.count("*").alias("rows"))
    return counted.select("window.start", "key", "sum", "rows")


def sessions(spark: Any, base: Path) -> Any:
    from pyspark.sql import functions as F

    counted = timed(spark, base).groupBy(F.session_window("ts", "90 seconds"), "key").agg(F.sum("n").alias("sum"))
    return counted.select("session_window.start", "session_window.end", "key", "sum")


def distinct(spark: Any, base: Path) -> Any:
    return timed(spark, base).dropDuplicates(["key", "ts"])


def distinct_for_a_while(spark: Any, base: Path) -> Any:
    """The short delay lets keys expire within the input, and come again."""
    return events(spark, base).withWatermark("ts", "2 minutes").dropDuplicatesWithinWatermark(["key"])


def inner_join(spark: Any, base: Path) -> Any:
    return _join(spark, base, "inner")


def left_join(spark: Any, base: Path) -> Any:
    return _join(spark, base, "leftOuter")


def _join(spark: Any, base: Path, kind: str) -> Any:
    from pyspark.sql import functions as F

    views, clicks = timed(spark, base).alias("v"), timed(spark, base, "clicks").alias("c")
    near = F.expr("v.key = c.key AND c.ts BETWEEN v.ts AND v.ts + INTERVAL 1 MINUTE")
    return views.join(clicks, near, kind).select("v.key", "v.ts", "v.n", F.col("c.n").alias("click"))


def endless_join(spark: Any, base: Path) -> Any:
    """Without a watermark: no row is ever too late, and none goes."""
    views = events(spark, base).alias("v")
    clicks = events(spark, base, "clicks").selectExpr("key", "ts", "n AS click").alias("c")
    return views.join(clicks, "key").where("c.ts BETWEEN v.ts AND v.ts + INTERVAL 1 MINUTE").select("key", "v.ts", "n", "click")


def total(spark: Any, base: Path) -> Any:
    """Global: one partition, whatever the number of shuffle partitions."""
    from pyspark.sql import functions as F

    return events(spark, base).agg(F.sum("n").alias("sum"), F.count("*").alias("rows"))


def total_by_key(spark: Any, base: Path) -> Any:
    from pyspark.sql import functions as F

    return events(spark, base).groupBy("key").agg(F.sum("n").alias("sum"), F.collect_list("n").alias("all"))


def limited(spark: Any, base: Path) -> Any:
    return events(spark, base).limit(55)


def stateless(spark: Any, base: Path) -> Any:
    return events(spark, base).where("n % 3 <> 0")


def distinct_then_windowed(spark: Any, base: Path) -> Any:
    """Two stateful operators, one after the other."""
    from pyspark.sql import functions as F

    once = timed(spark, base).dropDuplicates(["key", "ts"])
    return once.groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum")).select("window.start", "key", "sum")


def chained(spark: Any, base: Path) -> Any:
    """A window of windows: the watermark of the inner one makes the outer one's late rows."""
    from pyspark.sql import functions as F

    inner = timed(spark, base).groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum"))
    outer = inner.groupBy(F.window(F.window_time("window"), "6 minutes"), "key").agg(F.sum("sum").alias("sum"), F.count("*").alias("n"))
    return outer.select("window.start", "key", "sum", "n")


def joined_then_windowed(spark: Any, base: Path) -> Any:
    from pyspark.sql import functions as F

    joined = _join(spark, base, "inner")
    return joined.groupBy(F.window("ts", "2 minutes"), "key").agg(F.count("*").alias("n")).select("window.start", "key", "n")


def united(spark: Any, base: Path) -> Any:
    """Two sources, whose slower one holds the watermark back."""
    from pyspark.sql import functions as F

    both = timed(spark, base).union(timed(spark, base, "clicks"))
    return both.groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum")).select("window.start", "key", "sum")


def named(spark: Any, base: Path) -> Any:
    both = events(spark, base, "events", "views").union(events(spark, base, "clicks", "clicks"))
    return both.withWatermark("ts", DELAY).dropDuplicates(["key", "ts"])


def steady_rate(spark: Any, base: Path) -> Any:
    """A source whose batches are fixed: twenty rows and ten seconds of event time each."""
    from pyspark.sql import functions as F

    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20).option("advanceMillisPerBatch", 10_000)
    rows = source.option("startTimestamp", 1_767_225_600_000).option("numPartitions", 2).load().withWatermark("timestamp", "10 seconds")
    counted = rows.groupBy(F.window("timestamp", "20 seconds"), (F.col("value") % 3).alias("key")).agg(F.sum("value").alias("sum"))
    return counted.select("window.start", "key", "sum")


def steady_rows(spark: Any, base: Path) -> Any:
    """The same source without state, and without an end."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).option("advanceMillisPerBatch", 1000)
    return source.option("startTimestamp", 1_767_225_600_000).load()


def rate(spark: Any, base: Path) -> Any:
    """A source whose first moment is kept in the checkpoint; its batches follow the clock."""
    return spark.readStream.format("rate").option("rowsPerSecond", 40).option("numPartitions", 2).load()
