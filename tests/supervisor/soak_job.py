"""Kinds of jobs for soaks, plain PySpark: what each writes depends on its input alone, however often it is killed.

`soak_job.py KIND EVENTS OUTPUT` runs one of them for good. `begin` with `once` begins the same queries over the input that is there.
"""

import json
import os
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
STORES = {"hdfs": "HDFSBackedStateStoreProvider", "rocksdb": "RocksDBStateStoreProvider"}
QUERIES = {
    "windows": (("sums", "windows", "hdfs", "parquet"),),
    "windows_rocksdb": (("sums", "windows", "rocksdb", "parquet"),),
    "distinct": (("distinct", "distinct", "rocksdb", "parquet"),),
    "totals": (("totals", "totals", "hdfs", "noted"),),
    "joined": (("joined", "joined", "rocksdb", "parquet"),),
    "several": (("named", "totals", "rocksdb", "noted"), ("", "windows", "hdfs", "parquet")),
    "unnamed": (("", "distinct", "hdfs", "parquet"), ("", "totals", "rocksdb", "noted")),
}
"""Kind -> its queries: name, what it computes, state store, sink."""
SCHEMA = "id BIGINT, k STRING, v INT, t TIMESTAMP"


def folder(number, name):
    """The folder of a query's output below the job's."""
    return name or f"unnamed-{number}"


def set_store(spark, store):
    spark.conf.set(PROVIDER, f"org.apache.spark.sql.execution.streaming.state.{STORES[store]}")
    spark.conf.set(CHANGELOG, str(store == "rocksdb").lower())
    spark.conf.set(FORMAT, "2" if store == "rocksdb" else "1")


def read(spark, events):
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(events)


def windows(spark, events):
    grouped = read(spark, events).withWatermark("t", "20 seconds").groupBy(F.window("t", "10 seconds"), "k")
    return grouped.agg(F.count("*").alias("rows"), F.sum("v").alias("v")).select(F.col("window.start").alias("start"), "k", "rows", "v")


def distinct(spark, events):
    return read(spark, events).withWatermark("t", "30 seconds").dropDuplicatesWithinWatermark(["id"])


def totals(spark, events):
    return read(spark, events).groupBy("k").agg(F.count("*").alias("rows"), F.sum("v").alias("v"))


def joined(spark, events):
    """Two streams of the same files. No row is ever late: which files of both a batch has depends on the moment."""
    left, right = (read(spark, events).withWatermark("t", "2 days") for _ in range(2))
    left, right = left.where("v % 7 = 0").alias("a"), right.where("v % 5 = 0").alias("b")
    near = F.expr("a.k = b.k AND b.t BETWEEN a.t AND a.t + INTERVAL 5 SECONDS")
    return left.join(right, near).select(F.col("a.id").alias("a"), F.col("b.id").alias("b"))


COMPUTED = {"windows": windows, "distinct": distinct, "totals": totals, "joined": joined}


def noted(output):
    """Writes each batch's rows into a file of its own. One that is written again with other rows leaves a mark."""

    def write(frame: DataFrame, batch: int) -> None:
        text = json.dumps(sorted(json.dumps(row.asDict(), default=str) for row in frame.collect()))
        os.makedirs(output, exist_ok=True)
        path = os.path.join(output, f"{batch}.json")
        if os.path.exists(path):
            with open(path) as before:
                if before.read() != text:
                    open(os.path.join(output, f"{batch}.differs"), "w").close()
        with open(f"{path}.part", "w") as file:
            file.write(text)
        os.replace(f"{path}.part", path)

    return write


def begin(spark, kind, events, output, once=False):
    """The kind's running queries."""
    running = []
    for number, (name, computes, store, sink) in enumerate(QUERIES[kind]):
        set_store(spark, store)
        target = os.path.join(output, folder(number, name))
        writer = COMPUTED[computes](spark, events).writeStream
        writer = writer.queryName(name) if name else writer
        noting = sink == "noted"
        writer = writer.outputMode("update").foreachBatch(noted(target)) if noting else writer.format(sink).option("path", target)
        running.append(writer.trigger(**({"availableNow": True} if once else {"processingTime": "500 milliseconds"})).start())
    return running


if __name__ == "__main__":
    for query in begin(SparkSession.builder.getOrCreate(), *sys.argv[1:]):
        query.awaitTermination()
