"""A driver that follows: what it refuses by name, a query that is stopped while it waits for its leader, and one whose batch fails."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.lockstep import QUERY, SOURCE, Lead
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.run_specs import RunSpec
from tests.driver.process import Drivers, batches

SCRIPT = """
import sys, time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rates = spark.readStream.format("rate").load()
query = rates.writeStream.queryName("waits").format("noop").start()
time.sleep(2)
assert query.isActive and query.lastProgress is None
query.stop()
assert not query.isActive and query.exception() is None


def refused(frame, name, **options):
    try:
        frame.writeStream.queryName(name).format("noop").options(**options).start()
    except Exception as error:
        print("REFUSED", name, error.code, flush=True)


socket = spark.readStream.format("socket").option("host", "localhost").option("port", 1)
refused(socket.load(), "socket")
refused(spark.readStream.option("cleanSource", "delete").text(sys.argv[1]), "cleans")
refused(rates, "unknown")
refused(rates, "gaps", asyncProgressTrackingEnabled="true")
fails = rates.select("value").writeStream.queryName("fails").foreachBatch(lambda frame, batch: 1 / 0).start()
fails.awaitTermination()
"""


def lay_batch(checkpoint: Path, batch: int, offset: str) -> None:
    """A batch as a leader has committed it."""
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1_700_000_000_000, "conf": {}}
    for log, text in (("offsets", f"v1\n{json.dumps(metadata)}\n{offset}"), ("commits", "v1\n{}")):
        (checkpoint / log).mkdir()
        (checkpoint / log / str(batch)).write_text(text)


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_what_cannot_follow_is_refused_and_what_waits_can_be_stopped(drivers: Drivers, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    leads = tmp_path / "leader"
    for query in ("waits", "socket", "cleans", "gaps", "fails"):
        (leads / query).mkdir(parents=True)
    lay_batch(leads / "fails", 0, "5")
    told = {"lead": asdict(Lead(JobName("a"), str(leads)))}
    driver = drivers.start("r1", SCRIPT, str(tmp_path / "in"), job="b", told=told)
    assert driver.wait() == 1, driver.log
    assert driver.exit["query"] == "fails" and "ZeroDivisionError" in driver.log
    assert (batches(drivers.checkpoints("b") / "fails", "offsets"), batches(drivers.checkpoints("b") / "fails", "commits")) == ([0], [])
    refusals = [line.split()[1:] for line in driver.log.splitlines() if line.startswith("REFUSED")]
    assert refusals == [["socket", SOURCE], ["cleans", SOURCE], ["unknown", QUERY], ["gaps", QUERY]]
    planned = drivers.checkpoints("b") / "waits" / "offsets"
    assert not planned.is_dir() or not [path for path in planned.iterdir() if path.name.isdigit()]


def test_a_lead_is_read_as_it_was_written() -> None:
    lead = Lead(JobName("a"), "/checkpoints", "/wanted.json", {"q": 7})
    spec = RunSpec(
        1, RunId("r"), JobName("b"), VersionId("v"), "b.py", ("--x",), {"k": "v"}, "local[1]", "/checkpoints", "/output", lead=lead
    )
    told = json.loads(json.dumps(asdict(spec)))
    assert rebuilt(RunSpec, told) == spec and rebuilt(RunSpec, {**told, "lead": None}).lead is None
    assert rebuilt(RunSpec, {**told, "of a newer driver": 1}) == spec, "of the same format"
    assert rebuilt(RunSpec, {name: told[name] for name in told if name not in ("lead", "resources")}) == replace(spec, lead=None)
    with pytest.raises(KeyError, match="output"):
        rebuilt(RunSpec, {name: told[name] for name in told if name != "output"})
