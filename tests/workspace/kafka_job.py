"""A job on Kafka, to which it may sign in: an aggregation into files, copies into a topic, rows that name their topics, and a topic that
is empty for long. Two of its queries have no name."""

from __future__ import annotations

import json
from collections.abc import Collection

from tests.kafka import PLAIN, USER, Row

SCRIPT = (
    f"""
PLAIN, USER = {PLAIN!r}, {USER!r}
"""
    + """
import sys
from pyspark.sql import SparkSession, functions as F
servers, output, clicks, later, copies, *signed = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()

def read(topic):
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "13"}
    if signed:
        options["kafka.bootstrap.servers"] = signed[0]
        options |= {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
        options["kafka.sasl.jaas.config"] = f'{PLAIN} required username="{USER}" password="{signed[1]}";'
    rows = spark.readStream.format("kafka").options(**options).load().select(F.col("value").cast("string").alias("value"))
    return rows.select("value", F.from_json("value", "k string, v int, t timestamp").alias("row")).select("value", "row.*")

events = read(clicks)
sums = events.withWatermark("t", "60 seconds").groupBy("k", F.window("t", "10 seconds")).agg(F.sum("v").alias("s"), F.count("v").alias("n"))
sums = sums.select("k", F.col("window.start").alias("start"), "s", "n")
a = sums.writeStream.outputMode("append").format("parquet").option("path", output + "/sums").start()
copied = events.selectExpr("if(v < 0, raise_error('poison'), value) AS value")
b = copied.writeStream.queryName("copies").format("kafka").option("kafka.bootstrap.servers", servers)
b = b.option("topic", copies).start()
c = read(later).select("k", "v").writeStream.format("parquet").option("path", output + "/later").start()
named = read(later).selectExpr("concat(k, '_named') AS topic", "cast(v AS string) AS value")
d = named.writeStream.queryName("named").format("kafka").option("kafka.bootstrap.servers", servers)
d = d.trigger(processingTime="0 seconds").outputMode("append").start()
spark.streams.awaitAnyTermination()
"""
)
PHASE_S, ROWS = 60, 18
LAST_S = 100_000


def row(partition: int, key: str, value: int, at_s: int) -> Row:
    """A row for a partition, with its event time in seconds."""
    minutes, seconds = divmod(at_s, 60)
    hours, minutes = divmod(minutes, 60)
    time = f"2026-01-{1 + hours // 24:02d}T{hours % 24:02d}:{minutes:02d}:{seconds:02d}Z"
    return partition, json.dumps({"k": key, "v": value, "t": time})


def phase(number: int, partitions: int) -> list[Row]:
    """Rows of a minute, none of them late whatever batch they come in."""
    return [row(at % partitions, f"k{at % 3}", 100 * number + at, PHASE_S * number + at) for at in range(ROWS)]


def closing() -> Row:
    """A row after which every window before it is closed."""
    return row(0, "last", 0, LAST_S)


def sums(phases: range, skipped: Collection[tuple[int, int]] = ()) -> list[tuple[str, str, int, int]]:
    """Key, start of its window, sum and count of its values: what the job gives in the end; without rows that are skipped, by phase and
    place in it."""
    seen: dict[tuple[str, str], list[int]] = {}
    for number in phases:
        for at in (at for at in range(ROWS) if (number, at) not in skipped):
            start = PHASE_S * number + at // 10 * 10
            seen.setdefault((f"k{at % 3}", f"2026-01-01 00:{start // 60:02d}:{start % 60:02d}"), []).append(100 * number + at)
    return sorted((key, start, sum(values), len(values)) for (key, start), values in seen.items())
