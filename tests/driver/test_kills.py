"""Real drivers killed with SIGKILL at each step of a batch, again and again in one job: its output is the uninterrupted run's.

A job has a query for each of several stores, so that a kill aimed at a step of one hits the others wherever they are. Which step a kill
really hits is the machine's affair; it is read from disk and reported. `tests/savepoint/test_exactness_steps.py` makes every one of these
states for certain. Drivers that are killed or fail, and those that go on from there to the next kill, have JVMs of their own; the ones
that nobody disturbs (the reference, and each job's last one) share a kept one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.driver import killing
from tests.driver.killing import Moment
from tests.driver.process import Driver, Drivers
from tests.kept_jvms.keeper import Keeper
from tests.savepoint import queries
from tests.savepoint.streaming import BRISK, STORES, Lab

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

FILES = 24
PATIENCE_S = 400
PAUSED_AT = 3
"""The batch at which a writer that pauses stands still, after its rows and before Spark's commit."""
COMPACTED = {"spark.sql.streaming.fileSource.log.compactInterval": "3", "spark.sql.streaming.fileSink.log.compactInterval": "3"}
SCRIPT = """
import json, os, sys, time
from functools import partial
from pyspark.sql import SparkSession, functions as F

events, output, asked = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
spark = SparkSession.builder.getOrCreate()

def counted():
    rows = spark.readStream.schema("key STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(events)
    sums = rows.withWatermark("ts", "4 minutes").groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum"))
    return sums.select(F.col("window.start").cast("string").alias("start"), "key", "sum")

def write(folder, sink, frame, batch):
    if sink in ("pausing", "skipping") and os.path.exists(f"{folder}/{batch}.rows"):
        return
    lines = [json.dumps(row.asDict(), sort_keys=True) for row in frame.collect()]
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/.{batch}.tmp", "w") as file:
        file.write("\\n".join(lines))
    os.replace(f"{folder}/.{batch}.tmp", f"{folder}/{batch}.rows")
    while sink == "pausing" and batch == PAUSED_AT:
        time.sleep(1)

def start(name, conf, sink):
    for key, value in conf.items():
        spark.conf.set(key, value)
    writer = counted().writeStream.queryName(name).outputMode("append").trigger(availableNow=True)
    folder = f"{output}/{name}"
    return writer.format("parquet").start(folder) if sink == "parquet" else writer.foreachBatch(partial(write, folder, sink)).start()

for query in [start(name, conf, sink) for name, (conf, sink) in asked.items()]:
    query.awaitTermination()
""".replace("PAUSED_AT", str(PAUSED_AT))

SOURCE = Moment("source log written", "sources/0", r"(\d+)(?:\.compact)?")
STATE = Moment("state half written", "state/0/0", r"(\d+)[._].*(?:delta|changelog|zip)", ahead=1)
SNAPSHOT = Moment("snapshot uploaded", "state/0/1", r"\.?[0-9]+(?:_.*)?\.(?:snapshot|zip)")
SST = Moment("snapshot half uploaded", "state/0/1/SSTs", r".*\.sst")
DATA = Moment("sink's data written", "output", r"part-.*\.parquet|\.(\d+)\.tmp")
SINK = Moment("sink committed", "output/_spark_metadata", r"(\d+)(?:\.compact)?")
COMMIT = Moment("committed", "commits", r"(\d+)")


@dataclass(frozen=True)
class Chain:
    """A job, and where its driver is killed, one time after the other."""

    queries: Mapping[str, tuple[str, str]]
    """Name -> store and sink."""
    kills: tuple[tuple[str, Moment], ...]
    """The query that is aimed at, and the step of its batch."""


CHAINS = {
    "older stores": Chain(
        {"hdfs": ("hdfs", "parquet"), "rocksdb": ("rocksdb", "foreachBatch"), "changelog": ("rocksdb_changelog", "parquet")},
        (("hdfs", SOURCE), ("hdfs", STATE), ("changelog", SINK), ("rocksdb", SST)),
    ),
    "format2 and hdfs": Chain(
        {"files": ("rocksdb_format2", "parquet"), "batches": ("hdfs", "foreachBatch")},
        (("batches", COMMIT), ("files", DATA), ("files", SNAPSHOT)),
    ),
}


@dataclass(frozen=True)
class Kills:
    """One job's driver, started again after every kill."""

    lab: Lab

    def checkpoint(self, query: str) -> Path:
        return self.lab.drivers.checkpoints("job") / query

    def output(self, query: str) -> Path:
        return self.lab.drivers.output("job") / query

    def start(self) -> Driver:
        return self.lab.start("job")

    def kill(self, query: str, moment: Moment) -> None:
        """Starts the driver and kills it at `moment` of a batch of `query` that is not its first."""
        begin = self.lab.committed("job", query)
        driver = self.start()
        self.lab.await_batch(driver, "job", begin + 1, query)
        batch, place = self.lab.committed("job", query) + 1, moment.place(self.checkpoint(query), self.output(query))
        came = killing.kill_when(driver, place, lambda name: moment.has_come(name, batch), PATIENCE_S)
        assert came is not None, f"the driver ended first: {driver.log}"

    def reached(self, query: str) -> str:
        """What was on disk of its newest batch."""
        return killing.reached(self.checkpoint(query), self.output(query))


def asked(queries: Mapping[str, tuple[str, str]]) -> str:
    """What the script is told of its queries."""
    return json.dumps({name: (STORES[store], sink) for name, (store, sink) in queries.items()})


def lab(drivers: Drivers, events: Path, queries: Mapping[str, tuple[str, str]]) -> Lab:
    return Lab(drivers, SCRIPT, {**BRISK, **COMPACTED}, (str(events), "{output}", asked(queries)))


def rows(lab: Lab, job: str, query: str, sink: str) -> Counter[Any]:
    """Of the file sink what its log lists, of foreachBatch what each batch wrote, without the batch."""
    if sink == "parquet":
        files = lab.output(job, query)
        return Counter(duckdb.sql(f'SELECT "start", "key", "sum" FROM read_parquet({files})').fetchall())
    folder = lab.drivers.output(job) / query
    lines = [json.loads(line) for file in folder.glob("[0-9]*.rows") for line in file.read_text().splitlines()]
    return Counter((row["start"], row["key"], row["sum"]) for row in lines)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, keeper: Keeper) -> Iterator[tuple[Path, Counter[Any]]]:
    """The input, and the rows of a run that nobody killed."""
    folder = tmp_path_factory.mktemp("reference")
    drivers = Drivers(folder)
    try:
        events = queries.write_events(folder / "events", files=FILES)
        uninterrupted = lab(drivers, events, {"counts": ("rocksdb_format2", "foreachBatch")})
        with keeper.giving():
            uninterrupted.finish(uninterrupted.start("reference"))
        output = rows(uninterrupted, "reference", "counts", "foreachBatch")
        assert sum(output.values()) > FILES
        yield events, output
    finally:
        drivers.end()


@pytest.mark.parametrize("name", CHAINS)
def test_a_job_killed_at_every_step_gives_the_uninterrupted_output(
    reference: tuple[Path, Counter[Any]], drivers: Drivers, keeper: Keeper, record_property: Any, name: str
) -> None:
    chain, (events, expected) = CHAINS[name], reference
    kills = Kills(lab(drivers, events, chain.queries))
    for query, moment in chain.kills:
        kills.kill(query, moment)
        hit = {each: kills.reached(each) for each in chain.queries if (kills.checkpoint(each) / "offsets").is_dir()}
        record_property(f"{name}: aimed at {moment.step} of {query}", str(hit))
        print(f"{name}: aimed at {moment.step} of {query}, hit {hit}")
    with keeper.giving():
        kills.lab.finish(kills.start())
    for query, (_, sink) in chain.queries.items():
        output = rows(kills.lab, "job", query, sink)
        assert output - expected == Counter(), query
        assert expected - output == Counter(), query


def test_a_writer_that_skips_a_batch_uncomputed_never_goes_on_silently(
    reference: tuple[Path, Counter[Any]], drivers: Drivers, keeper: Keeper
) -> None:
    """Spark commits such a batch before it fails, and would go on after it with a wrong watermark: the commit is taken back."""
    events, expected = reference
    kills = Kills(lab(drivers, events, {"counts": ("hdfs", "pausing")}))
    pausing = kills.start()
    pausing.until(lambda _: (kills.output("counts") / f"{PAUSED_AT}.rows").exists(), PATIENCE_S)
    kills.lab.kill(pausing)
    assert kills.reached("counts") == "sink committed"
    committed = kills.lab.committed("job", "counts")
    kills.lab.args = (*kills.lab.args[:-1], asked({"counts": ("hdfs", "skipping")}))
    for _ in range(2):
        failing = kills.start()
        assert failing.wait(PATIENCE_S) == 1, failing.log
        assert failing.exit["error_class"] == "STATE_STORE_COMMIT_VALIDATION_FAILED", failing.log
        assert [event["kind"] for event in failing.events] == ["commit.taken_back"]
        assert kills.lab.committed("job", "counts") == committed
    kills.lab.args = (*kills.lab.args[:-1], asked({"counts": ("hdfs", "foreachBatch")}))
    with keeper.giving():
        kills.lab.finish(kills.start())
    assert rows(kills.lab, "job", "counts", "foreachBatch") == expected
