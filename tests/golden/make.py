"""Write the golden checkpoints with real Spark: `python tests/golden/make.py [NAME ...]`.

Each is made under /tmp/tidemark-golden, because Spark writes absolute paths of source and sink files into its logs, and then
copied beside this script: `<name>/checkpoint` as it is, and of the output only its log, as `<name>/sink_log`. Inputs are fixed,
so the rows are too; ids and times differ.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BUILD = Path("/tmp/tidemark-golden")
HERE = Path(__file__).parent
SCHEMA = "post STRING, ts TIMESTAMP, n INT"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BATCHES = 13
FEW_BATCHES = 7
BASE_CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.stateStore.maintenanceInterval": "200ms",
}
ROCKSDB_CONF = {"spark.sql.streaming.stateStore.providerClass": ROCKSDB}
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
CHANGELOG_CONF = ROCKSDB_CONF | {CHANGELOG: "true"}
FORMAT_2_CONF = CHANGELOG_CONF | {FORMAT: "2"}


def write_input(folder: Path, batches: int = BATCHES, seed: int = 0) -> None:
    """One JSON file a batch: minute-apart events, some late, their modification times a second apart so that Spark's order is fixed."""
    folder.mkdir(parents=True, exist_ok=True)
    for batch in range(batches):
        lines = []
        for row in range(4):
            minute = max(0, batch * 3 + row - (5 if row == 3 else 0))
            at = f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:00Z"
            lines.append(json.dumps({"post": f"p{(row + batch + seed) % 3}", "ts": at, "n": batch * 10 + row}))
        file = folder / f"{batch:03d}.json"
        file.write_text("\n".join(lines) + "\n")
        os.utime(file, (1_767_225_600 + batch, 1_767_225_600 + batch))


def read_events(spark: Any, folder: Path, name: str | None = None) -> Any:
    reader = spark.readStream
    if name is not None:
        reader = reader.name(name)
    return reader.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))


def windowed(spark: Any, base: Path) -> Any:
    """Views per post in ten-minute windows."""
    from pyspark.sql import functions as F

    events = read_events(spark, base / "input").withWatermark("ts", "5 minutes")
    counted = events.groupBy(F.window("ts", "10 minutes"), "post").agg(F.sum("n").alias("total"))
    return counted.select("window.start", "window.end", "post", "total")


def stateless(spark: Any, base: Path) -> Any:
    return read_events(spark, base / "input").where("n % 2 = 0").select("post", "n")


def limited(spark: Any, base: Path) -> Any:
    """The first rows only: an operator that has one partition, whatever the number of shuffle partitions."""
    return read_events(spark, base / "input").select("post", "n").limit(30)


def rate(spark: Any, base: Path) -> Any:
    """A source that keeps a log of its own kind in the checkpoint."""
    return spark.readStream.format("rate").option("rowsPerSecond", 1).load()


def join(spark: Any, base: Path) -> Any:
    """Clicks joined to views of the same post within five minutes: four stores a partition."""
    from pyspark.sql import functions as F

    views = read_events(spark, base / "input").withWatermark("ts", "5 minutes").alias("v")
    clicks = read_events(spark, base / "clicks").withWatermark("ts", "5 minutes").alias("c")
    near = F.expr("v.post = c.post AND c.ts BETWEEN v.ts AND v.ts + INTERVAL 5 MINUTES")
    return views.join(clicks, near).select(F.col("v.post"), F.col("v.n").alias("view"), F.col("c.n").alias("click"))


def named(spark: Any, base: Path) -> Any:
    """Two named sources, in one, without duplicates."""
    both = read_events(spark, base / "input", "views").union(read_events(spark, base / "clicks", "clicks"))
    return both.withWatermark("ts", "5 minutes").dropDuplicates(["post", "ts"])


def transform(spark: Any, base: Path) -> Any:
    """A running total per post with transformWithState: a value and a map of their own in one store."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Totals(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.total = handle.getValueState("total", "total LONG")
            self.seen = handle.getMapState("seen", "n INT", "times INT")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:
            total = self.total.get()[0] if self.total.exists() else 0
            for row in rows:
                total += row.n
                self.seen.updateValue((row.n,), (1,))
            self.total.update((total,))
            yield Row(post=key[0], total=total)

        def close(self) -> None:
            pass

    events = read_events(spark, base / "input")
    return events.groupBy("post").transformWithState(Totals(), "post STRING, total LONG", "append", "none")


@dataclass(frozen=True)
class Golden:
    """One checkpoint to make: the query, and the confs that choose its state store and log versions."""

    query: Callable[[Any, Path], Any]
    conf: dict[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ("input",)
    starts: int = 1
    batches: int = BATCHES


GOLDENS = {
    "hdfs": Golden(windowed),
    "hdfs_purged": Golden(
        windowed,
        {
            "spark.sql.streaming.minBatchesToRetain": "4",
            "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
            "spark.sql.streaming.fileSource.log.compactInterval": "4",
            "spark.sql.streaming.fileSink.log.cleanupDelay": "0",
            "spark.sql.streaming.fileSink.log.compactInterval": "3",
        },
    ),
    "rocksdb": Golden(windowed, ROCKSDB_CONF),
    "rocksdb_changelog": Golden(windowed, CHANGELOG_CONF),
    "rocksdb_format2": Golden(windowed, FORMAT_2_CONF),
    "stateless": Golden(stateless),
    "limit": Golden(limited),
    "limit_format2": Golden(limited, FORMAT_2_CONF, batches=FEW_BATCHES),
    "rate": Golden(rate, inputs=(), starts=3),
    "join": Golden(join, FORMAT_2_CONF, ("input", "clicks"), batches=FEW_BATCHES),
    "named": Golden(named, FORMAT_2_CONF | {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}, ("input", "clicks")),
    "transform": Golden(transform, FORMAT_2_CONF | {"spark.sql.streaming.stateStore.encodingFormat": "avro"}, batches=FEW_BATCHES),
}


def session(conf: dict[str, str]) -> Any:
    """The one Spark of this process, in a new session that has only these confs."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
    return configured(builder.getOrCreate().newSession(), conf)


def configured(spark: Any, conf: dict[str, str]) -> Any:
    """`spark` with the confs that every golden query runs with, and these."""
    for key, value in (BASE_CONF | conf).items():
        spark.conf.set(key, value)
    return spark


def run(spark: Any, golden: Golden, base: Path, checkpoint: Path, output: Path) -> None:
    """All of the input, a file a batch, until none is left."""
    writer = golden.query(spark, base).writeStream.format("parquet").option("checkpointLocation", str(checkpoint)).outputMode("append")
    query = writer.trigger(availableNow=True).start(str(output))
    query.awaitTermination()


def make(name: str) -> None:
    golden, base = GOLDENS[name], BUILD / name
    shutil.rmtree(base, ignore_errors=True)
    for seed, folder in enumerate(golden.inputs):
        write_input(base / folder, golden.batches, seed)
    for _ in range(golden.starts):
        run(session(golden.conf), golden, base, base / "checkpoint", base / "output")
    target = HERE / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(base / "checkpoint", target / "checkpoint")
    shutil.copytree(base / "output" / "_spark_metadata", target / "sink_log")


if __name__ == "__main__":
    for name in sys.argv[1:] or GOLDENS:
        make(name)
        print(name, flush=True)
