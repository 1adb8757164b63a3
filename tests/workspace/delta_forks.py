"""Forks of a job that writes to two Delta tables: each has tables of its own, with the rows of a run that was never interrupted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pyarrow import parquet

from pipelines.domain.trust import Trust
from pipelines.savepoint import delta_tables
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests import delta, runtimes
from tests.waiting import until
from tests.workspace.conftest import job
from tests.workspace.serving import Server
from tests.workspace.test_runtimes_exact import CONF, KEYS, put

CODE = """
import sys
from pyspark.sql import SparkSession, functions as F

into, lake = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()

def start(name, of):
    rows = spark.readStream.schema("k STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(into)
    sums = rows.withWatermark("ts", "1 minute").groupBy(F.window("ts", "2 minutes"), "k").agg(F.sum(of).alias("s"))
    sums = sums.select("k", F.minute("window.start").alias("at"), "s")
    sums.writeStream.queryName(name).format("delta").trigger(processingTime="0 seconds").start(f"{lake}/{name}")

start("sums", F.col("n"))
start("others", F.col("n"))
"""
CHANGED = CODE.replace('"others", F.col("n")', '"others", F.col("n") * 10')
QUERIES = ("sums", "others")
OPEN = 2
"""Windows that are still open after the last row, because the watermark is a minute behind."""


def expected(files: int, changed_from: int = 99) -> list[tuple[Any, ...]]:
    """The rows of one uninterrupted run, ten times as much from a file on."""
    closed = [(file, 10 if file >= changed_from else 1) for file in range(files - OPEN)]
    return sorted((f"k{key}", 2 * file, 2 * (2 * file + key) * times) for file, times in closed for key in range(KEYS))


def written(table: Path) -> list[tuple[Any, ...]]:
    """The rows of the table's newest version: key, minute and sum."""
    return sorted(tuple(row.values())[:3] for file in delta_tables.files(str(table)) for row in parquet.read_table(file).to_pylist())


def commits(lake: Path) -> list[str]:
    return sorted(path.name for query in QUERIES for path in (lake / query / "_delta_log").glob("*.json"))


def await_rows(server: Server, name: str, lake: Path, *rows: list[tuple[Any, ...]]) -> None:
    """Waits until the tables of the queries hold these rows."""

    def are_there() -> bool:
        newest = server.newest(name)
        assert not newest.state.has_failed and not newest.attempt, server.face.ask(ReadLog(name)).text[-4000:]
        return [written(lake / query) for query in QUERIES] == list(rows)

    until(are_there)


def fork_has_tables_of_its_own(server: Server, tmp_path: Path, spark: str) -> None:
    """On a PySpark: forked with other code, stopped, gone on after its parent's tables are gone."""
    face, into, lake = server.face, tmp_path / "in", tmp_path / "lake"
    own = face.layout.output(job("b")) / "tables"
    conf = {**CONF, **delta.conf(spark), "spark.sql.shuffle.partitions": "1"}
    put(into, 0, 4)
    args = (str(into), str(lake))
    do(face, RunScript(name="a", script="job.py", code=CODE, args=args, conf=conf, master="local[2]", python=runtimes.python(spark)))
    await_rows(server, "a", lake, expected(4), expected(4))
    savepoint = do(face, Take("a"))
    assert [image.table and image.table.left for image in savepoint.queries] == ["", ""]
    put(into, 4, 2)
    await_rows(server, "a", lake, expected(6), expected(6))
    server.stop("a", savepoint=False)
    log = commits(lake)

    change = Fork(savepoint.id, name="b", code=CHANGED)
    plan = face.plan(change)
    assert [(sink.action, sink.path) for sink in plan.sinks] == [("continue", str(lake / query)) for query in QUERIES] and not plan.refusal
    do(face, change)
    await_rows(server, "b", own, expected(6), expected(6, changed_from=4))
    # the rows are there before it is known which event time they reach: until then less is compared
    until(lambda: all(face.ask(Compare("a", "b", query=query)).rows_a == 4 * KEYS for query in QUERIES))
    same, other = (face.ask(Compare("a", "b", query=query)) for query in QUERIES)
    assert (same.rows_a, same.equal, same.only_a, same.only_b, same.changed) == (4 * KEYS, 4 * KEYS, 0, 0, 0)
    assert (other.rows_a, other.rows_b) == (4 * KEYS, 4 * KEYS)
    assert commits(lake) == log, "the parent's tables are as they were"
    server.stop("b", savepoint=False)

    shutil.rmtree(lake)  # no vacuum takes more
    assert do(face, Verify(savepoint.id, level=Trust.INTACT)).reached is Trust.INTACT
    put(into, 6, 1)
    do(face, Resume("b"))
    await_rows(server, "b", own, expected(7), expected(7, changed_from=4))
    assert not lake.exists(), "the fork's code names its parent's folder"
    again = face.plan(Fork(savepoint.id, name="c"))
    assert again.refusal is None and [sink.action for sink in again.sinks] == ["continue", "continue"]
