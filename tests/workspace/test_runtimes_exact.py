"""A job goes on under another Spark and back, and has the rows of one that nobody touched."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from pipelines.domain.savepoints import Reason
from pipelines.domain.trust import Trust
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents
from pipelines.verbs.verify import Verify
from tests import runtimes
from tests.waiting import until
from tests.workspace.conftest import job
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200), pytest.mark.usefixtures("kept_jvms")]

CODE = """
import sys
from pyspark.sql import SparkSession, functions as F

into, output, state_format = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("k STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(into).withWatermark("ts", "1 minute")
windows = rows.groupBy(F.window("ts", "2 minutes"), "k").agg(F.sum("n").alias("s"), F.count("*").alias("c"))

def start(frame, name):
    frame.writeStream.queryName(name).format("parquet").trigger(processingTime="0 seconds").start(f"{output}/{name}")

start(windows.select("k", F.minute("window.start").alias("at"), "s", "c"), "hdfs")
start(rows.dropDuplicates(["k", "n", "ts"]).select("k", F.minute("ts").alias("at"), "n"), "unique")
spark.conf.set("spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", state_format)
start(windows.select("k", F.minute("window.start").alias("at"), "s", "c"), "rocks")
"""
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
}
KEYS = 4
QUERIES = ("hdfs", "unique", "rocks")


def put(folder: Path, first: int, files: int) -> None:
    """Files of two minutes each, every row twice: nothing is late, so what comes out does not depend on when a batch runs."""
    folder.mkdir(exist_ok=True)
    for minute in range(2 * first, 2 * (first + files), 2):
        rows = [f'{{"k": "k{key}", "ts": "2026-01-01T00:{minute:02d}:0{key}Z", "n": {minute + key}}}\n' for key in range(KEYS)]
        aside = folder / f".{minute:03d}"
        aside.write_text("".join(rows * 2))
        os.utime(aside, (1_767_225_600 + minute,) * 2)
        aside.rename(folder / f"{minute:03d}.json")


def expected(files: int) -> dict[str, list[tuple[Any, ...]]]:
    """What one uninterrupted run puts out: the last two windows are still open, because the watermark is a minute behind."""
    minutes = range(0, 2 * files, 2)
    windows = sorted((f"k{key}", minute, 2 * (minute + key), 2) for minute in minutes[:-2] for key in range(KEYS))
    return {
        "hdfs": windows,
        "rocks": windows,
        "unique": sorted((f"k{key}", minute, minute + key) for minute in minutes for key in range(KEYS)),
    }


def written(output: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the files that the sinks' logs name."""
    return {query: sorted(rows_of(output / query)) for query in QUERIES if (output / query / "_spark_metadata").is_dir()}


def rows_of(sink: Path) -> Iterator[tuple[Any, ...]]:
    logs = [path.read_text().splitlines()[1:] for path in (sink / "_spark_metadata").iterdir() if not path.name.startswith(".")]
    names = {Path(json.loads(line)["path"]).name for lines in logs for line in lines}
    for name in names:
        yield from (tuple(row.values()) for row in parquet.read_table(sink / name).to_pylist())


def has_put_out(server: Server, name: str, files: int) -> bool:
    newest = server.newest(name)
    assert not newest.state.has_failed and not newest.attempt, server.face.ask(ReadLog(name)).text
    return written(server.face.layout.output(job(name))) == expected(files)


def rehearsals(server: Server) -> list[str]:
    return [event.message for event in server.face.ask(ListEvents(limit=200)) if event.kind == "runtime.rehearsed"]


def goes_both_ways(server: Server, into: Path, other: str, other_version: str, state_format: int = 1) -> None:
    """A job on another Spark, whose RocksDB has `state_format`; 1. forked onto ours, 2. upgraded to ours where it stands, 3. taken back to
    the other where it stands."""
    put(into, 0, 3)
    args = (str(into), "{output}", str(state_format))
    do(server.face, RunScript(name="a", script="job.py", code=CODE, args=args, conf=CONF, master="local[2]", python=other))
    until(lambda: has_put_out(server, "a", 3), 400)
    savepoint = server.stop("a", savepoint=True)
    assert server.newest("a").spark_version == other_version
    put(into, 3, 1)
    do(server.face, Fork(savepoint, name="b", python=""))  # 1
    do(server.face, Resume("a", python=""))  # 2
    until(lambda: all(has_put_out(server, name, 4) for name in ("a", "b")), 400)
    assert {server.newest(name).spark_version for name in ("a", "b")} == {pyspark_version()}
    server.stop("a", savepoint=True)
    put(into, 4, 2)
    do(server.face, Resume("a", python=other))  # 3
    until(lambda: all(has_put_out(server, name, 6) for name in ("a", "b")), 400)
    assert server.newest("a").spark_version == other_version
    messages = rehearsals(server)
    assert len(messages) == 3 and all(f"of {query}" in text for text in messages for query in QUERIES), messages


def pyspark_version() -> str:
    return metadata.version("pyspark")


def test_a_job_of_spark_3_5_goes_on_under_ours_and_back_with_the_rows_of_one_that_nobody_touched(tmp_path: Path) -> None:
    with serving(tmp_path / "ws") as server:
        goes_both_ways(server, tmp_path / "in", runtimes.python(), runtimes.USUAL)
        stopped = [saved for saved in server.face.ask(ListSavepoints("a")) if saved.reason is Reason.STOP]
        (savepoint,) = [saved for saved in stopped if saved.spark_version == runtimes.USUAL]
        verification = do(server.face, Verify(savepoint.id, level=Trust.PROVED))
        assert verification.reached is Trust.PROVED, verification
