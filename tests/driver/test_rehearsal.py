"""What a rehearsal makes of a script: one batch of each query into a scratch output, and nothing anywhere else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.rehearsals import BATCH_WRITE, NO_DATA
from pipelines.domain.runs import IDLE_FILE
from tests.driver.process import Drivers, batches

SINKS = """
import sys, time
from pathlib import Path
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

events, outside = sys.argv[1], Path(sys.argv[2])
spark = SparkSession.builder.getOrCreate()
reader = spark.readStream.schema("n INT").option("maxFilesPerTrigger", 1)
rows = reader.json(events)

def mark(name):
    outside.mkdir(exist_ok=True)
    (outside / name).touch()

try:
    spark.range(3).write.parquet(str(outside / "table"))
except Exception as refused:
    print("refused", refused.code)
queries = [
    rows.writeStream.queryName("files").format("json").option("path", str(outside / "files")).partitionBy("n").start(),
    rows.writeStream.queryName("batches").foreachBatch(lambda frame, batch: mark("batch")).trigger(processingTime="1 hour").start(),
    rows.writeStream.queryName("each").foreach(lambda row: mark("row")).start(),
    rows.writeStream.queryName("table").toTable("kept"),
    rows.groupBy("n").count().writeStream.queryName("complete").outputMode("complete").format("memory").start(),
    rows.select("n", F.col("n").alias("N"), F.lit(None).alias("nothing")).writeStream.queryName("odd").start(format="console"),
]
while any(query.isActive for query in queries):
    time.sleep(0.01)
print("tables", spark.catalog.listTables())
spark.stop()
time.sleep(1000)
"""

IDLE = """
import sys, time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("n INT").json(sys.argv[1])
rows.writeStream.queryName("idle").format("noop").start()
while True:
    try:
        time.sleep(60)
    except SystemExit:
        print("asked to end", flush=True)
        raise
"""


def write_files(folder: Path, files: int) -> Path:
    """The first has two rows; their modification times are a second apart so that Spark's order is fixed."""
    folder.mkdir()
    for file in range(files):
        path = folder / f"{file}.json"
        path.write_text("".join(f'{{"n": {file}}}\n' for _ in range(file + 2)))
        os.utime(path, (1_767_225_600 + file,) * 2)
    return folder


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_every_sink_is_replaced_and_each_query_ends_after_one_batch(drivers: Drivers, tmp_path: Path) -> None:
    names = ("files", "batches", "each", "table", "complete", "odd")
    outside, scratch = tmp_path / "outside", tmp_path / "rehearsal"
    events = str(write_files(tmp_path / "events", 3))
    driver = drivers.start("run-1", SINKS, events, str(outside), told={"rehearsal": str(scratch), "expected": names})
    assert driver.wait() == 0, driver.log
    assert driver.exit["reason"] == "finished"
    assert not outside.exists(), "no sink of the script saw a row"
    assert f"refused {BATCH_WRITE}" in driver.log
    assert "tables []" in driver.log
    assert {query["query"]: query["sink"] for query in driver.queries} == dict.fromkeys(names, "rehearsal")
    for name in names:
        assert batches(drivers.checkpoints() / name, "commits") == [0]
        written = json.loads((scratch / f"{name}.json").read_text())
        assert written == {"batch": 0, "output_rows": 1 if name == "complete" else 2}
        assert list((scratch / name / "0").glob("*.parquet"))
    assert {event["name"]: event["numInputRows"] for event in driver.progress if event["batchId"] == 0} == dict.fromkeys(names, 2)


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_without_new_data_a_stubborn_script_is_ended_and_it_is_said(drivers: Drivers, tmp_path: Path) -> None:
    told: dict[str, Any] = {"rehearsal": str(tmp_path / "rehearsal"), "rehearsal_patience_s": 1.0, "expected": ["idle"]}
    often = {"spark.sql.streaming.noDataProgressEventInterval": "100"}
    driver = drivers.start("run-1", IDLE, str(write_files(tmp_path / "events", 0)), told=told, conf=often)
    assert driver.wait() == 0, driver.log
    assert driver.exit["reason"] == "finished"
    assert [(event["kind"], event["query"]) for event in driver.events] == [(NO_DATA, "idle")]
    assert "asked to end" in driver.log
    assert not (tmp_path / "rehearsal" / "idle.json").exists()
    (query,), moments = driver.queries, driver.lines(IDLE_FILE)
    assert moments and {moment["query_id"] for moment in moments} == {query["query_id"]}
    assert all(moment["at_ms"] >= query["at_ms"] for moment in moments)
    told |= {"rehearsal_patience_s": 6000.0, "rehearsal_idle": ["idle"]}
    known = drivers.start("run-2", IDLE, str(tmp_path / "events"), told=told)
    assert known.wait() == 0, "what is known to have nothing is not waited for"
    assert [event["kind"] for event in known.events] == [NO_DATA]
