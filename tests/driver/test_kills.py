"""Real drivers killed with SIGKILL at each step of a batch, again and again in one job: its output is the uninterrupted run's.

Which step a kill really hits is the machine's affair; it is read from disk and reported. `tests/savepoint/test_exactness_steps.py`
makes every one of these states for certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.driver import killing
from tests.driver.killing import Moment
from tests.driver.process import Driver, Drivers
from tests.savepoint import queries
from tests.savepoint.streaming import BRISK, STORES, Lab

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

FILES = 24
PATIENCE_S = 120
TRIES = 5
COMPACTED = {"spark.sql.streaming.fileSource.log.compactInterval": "3", "spark.sql.streaming.fileSink.log.compactInterval": "3"}
SCRIPT = """
import json, os, sys
from pyspark.sql import SparkSession, functions as F

events, output, sink = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("key STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(events)
counted = rows.withWatermark("ts", "4 minutes").groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum"))
counted = counted.select(F.col("window.start").cast("string").alias("start"), "key", "sum")

def write(frame, batch):
    if sink == "skipping" and os.path.exists(f"{output}/counts/{batch}.rows"):
        return
    lines = [json.dumps(row.asDict(), sort_keys=True) for row in frame.collect()]
    os.makedirs(f"{output}/counts", exist_ok=True)
    with open(f"{output}/counts/.{batch}.tmp", "w") as file:
        file.write("\\n".join(lines))
    os.replace(f"{output}/counts/.{batch}.tmp", f"{output}/counts/{batch}.rows")

writer = counted.writeStream.queryName("counts").outputMode("append").trigger(availableNow=True)
query = writer.format("parquet").start(f"{output}/counts") if sink == "parquet" else writer.foreachBatch(write).start()
query.awaitTermination()
"""

PLANNED = Moment("planned", "offsets", r"(\d+)")
SOURCE = Moment("source log written", "sources/0", r"(\d+)(?:\.compact)?")
STATE = Moment("state half written", "state/0/0", r"(\d+)[._].*(?:delta|changelog|zip)", ahead=1)
SNAPSHOT = Moment("snapshot uploaded", "state/0/1", r"\.?[0-9]+(?:_.*)?\.(?:snapshot|zip)")
SST = Moment("snapshot half uploaded", "state/0/1/SSTs", r".*\.sst")
DATA = Moment("sink's data written", "output", r"part-.*\.parquet|\.(\d+)\.tmp")
SINK = Moment("sink committed", "output/_spark_metadata", r"(\d+)(?:\.compact)?")
ROWS = Moment("sink committed", "output", r"(\d+)\.rows")
COMMIT = Moment("committed", "commits", r"(\d+)")

CHAINS = {
    "hdfs, files": ("hdfs", "parquet", (SOURCE, STATE, SINK, SNAPSHOT)),
    "rocksdb, foreachBatch": ("rocksdb", "foreachBatch", (SST, SNAPSHOT, ROWS)),
    "changelog, files": ("rocksdb_changelog", "parquet", (PLANNED, SINK, DATA)),
    "format2, files": ("rocksdb_format2", "parquet", (SINK, SOURCE, SST, COMMIT)),
    "format2, foreachBatch": ("rocksdb_format2", "foreachBatch", (STATE, ROWS, DATA)),
}


@dataclass(frozen=True)
class Kills:
    """One job's driver, started again after every kill."""

    lab: Lab

    @property
    def checkpoint(self) -> Path:
        return self.lab.drivers.checkpoints("job") / "counts"

    @property
    def output(self) -> Path:
        return self.lab.drivers.output("job") / "counts"

    def start(self) -> Driver:
        return self.lab.start("job")

    def kill(self, moment: Moment) -> str:
        """Starts the driver and kills it at `moment` of a batch that is not its first; what was on disk then."""
        begin = self.lab.committed("job", "counts")
        driver = self.start()
        self.lab.await_batch(driver, "job", begin + 2, "counts")
        batch, place = self.lab.committed("job", "counts") + 1, moment.place(self.checkpoint, self.output)
        came = killing.kill_when(driver, place, lambda name: moment.has_come(name, batch), PATIENCE_S)
        assert came is not None, f"the driver ended first: {driver.log}"
        return killing.reached(self.checkpoint, self.output)


def lab(drivers: Drivers, events: Path, store: str, sink: str) -> Lab:
    return Lab(drivers, SCRIPT, {**BRISK, **COMPACTED, **STORES[store]}, (str(events), "{output}", sink))


def rows(lab: Lab, job: str, sink: str) -> Counter[Any]:
    """Of the file sink what its log lists, of foreachBatch what each batch wrote, without the batch."""
    import duckdb

    if sink == "parquet":
        files = lab.output(job, "counts")
        return Counter(duckdb.sql(f'SELECT "start", "key", "sum" FROM read_parquet({files})').fetchall())
    import json

    folder = lab.drivers.output(job) / "counts"
    lines = [json.loads(line) for file in folder.glob("[0-9]*.rows") for line in file.read_text().splitlines()]
    return Counter((row["start"], row["key"], row["sum"]) for row in lines)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Counter[Any]]]:
    """The input, and the rows of a run that nobody killed."""
    folder = tmp_path_factory.mktemp("reference")
    drivers = Drivers(folder)
    try:
        uninterrupted = lab(drivers, queries.write_events(folder / "events", files=FILES), "rocksdb_format2", "foreachBatch")
        uninterrupted.finish(uninterrupted.start("reference"))
        found = rows(uninterrupted, "reference", "foreachBatch")
        assert sum(found.values()) > FILES
        yield folder / "events", found
    finally:
        drivers.end()


@pytest.mark.parametrize("name", CHAINS)
def test_a_job_killed_at_every_step_gives_the_uninterrupted_output(
    reference: tuple[Path, Counter[Any]], drivers: Drivers, record_property: Any, name: str
) -> None:
    store, sink, moments = CHAINS[name]
    events, expected = reference
    kills = Kills(lab(drivers, events, store, sink))
    for moment in moments:
        hit = kills.kill(moment)
        record_property(f"{name}: aimed at {moment.step}", hit)
        print(f"{name}: aimed at {moment.step}, hit {hit}")
    kills.lab.finish(kills.start())
    found = rows(kills.lab, "job", sink)
    assert found - expected == Counter()
    assert expected - found == Counter()


def test_a_writer_that_skips_a_batch_uncomputed_never_goes_on_silently(reference: tuple[Path, Counter[Any]], drivers: Drivers) -> None:
    """Spark commits such a batch before it fails, and would go on after it with a wrong watermark: the commit is taken back."""
    events, expected = reference
    kills = Kills(lab(drivers, events, "hdfs", "skipping"))
    assert any(kills.kill(ROWS) == "sink committed" for _ in range(TRIES)), "no kill came between the two commits"
    committed = kills.lab.committed("job", "counts")
    for _ in range(2):
        failing = kills.start()
        assert failing.wait(PATIENCE_S) == 1, failing.log
        assert failing.exit["error_class"] == "STATE_STORE_COMMIT_VALIDATION_FAILED", failing.log
        assert [event["kind"] for event in failing.events] == ["commit.taken_back"]
        assert kills.lab.committed("job", "counts") == committed
    kills.lab.args = (*kills.lab.args[:-1], "foreachBatch")
    kills.lab.finish(kills.start())
    assert rows(kills.lab, "job", "foreachBatch") == expected
