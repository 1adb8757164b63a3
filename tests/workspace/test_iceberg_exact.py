"""Forks of a job that writes to Iceberg tables: each has a branch of its own, with the rows of a run that was never interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.decisions import StateFrom
from pipelines.domain.ids import JobName
from pipelines.domain.runs import RunState
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from tests import iceberg, runtimes
from tests.waiting import until
from tests.workspace.delta_forks import expected
from tests.workspace.serving import Server, serving
from tests.workspace.test_runtimes_exact import CONF, KEYS, put

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(1200),
    pytest.mark.usefixtures("kept_jvms"),
    pytest.mark.skipif(bool(iceberg.missing()), reason=iceberg.missing()),
]
CODE = """
import sys
from pyspark.sql import SparkSession, functions as F

into, lake = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.sql("CREATE TABLE IF NOT EXISTS lake.db.others (k STRING, at INT, s BIGINT) USING iceberg")

def sums(of):
    rows = spark.readStream.schema("k STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(into)
    sums = rows.withWatermark("ts", "1 minute").groupBy(F.window("ts", "2 minutes"), "k").agg(F.sum(of).alias("s"))
    return sums.select("k", F.minute("window.start").alias("at"), "s").writeStream.trigger(processingTime="0 seconds")

sums(F.col("n")).queryName("sums").format("iceberg").toTable("lake.db.sums")
sums(F.col("n")).queryName("others").format("iceberg").start(f"{lake}/db/others")
"""
CHANGED = CODE.replace('sums(F.col("n")).queryName("others")', 'sums(F.col("n") * 10).queryName("others")')
QUERIES = ("sums", "others")
EXPIRE = """
import time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for query in ("sums", "others"):
    table = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, f"lake.db.{query}")
    table.expireSnapshots().expireOlderThan(int(time.time() * 1000)).commit()
"""


def await_rows(server: Server, name: str, lake: Path, branch: str, *rows: list[tuple[Any, ...]]) -> None:
    """Waits until the branch of each query's table holds these rows."""

    def are_there() -> bool:
        newest = server.newest(name)
        assert not newest.state.has_failed and not newest.attempt, server.face.ask(ReadLog(name)).text[-4000:]
        return [iceberg.written(lake / "db" / query, branch) for query in QUERIES] == list(rows)

    until(are_there)


def uncommit(server: Server, job: str, query: str) -> None:
    """Takes the newest commit of a stopped job's query away: so a kill between the table's commit and Spark's leaves it."""
    commits = Path(server.newest(job).checkpoints) / query / "commits"
    newest = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    for name in (f"{newest}", f".{newest}.crc"):
        (commits / name).unlink()


def kinds(server: Server, job: str) -> set[str]:
    return {event.kind for event in server.face.ask(ListEvents(JobName(job)))}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


def test_the_rows_of_every_branch_are_those_of_a_run_that_nobody_interrupted(server: Server, tmp_path: Path) -> None:
    has_the_rows_of_a_run_that_nobody_interrupted(server, tmp_path, runtimes.USUAL)


def has_the_rows_of_a_run_that_nobody_interrupted(server: Server, tmp_path: Path, spark: str) -> None:
    """On a PySpark: 1. forked with other code; 2. killed between the table's commit and Spark's; 3. taken back in time; 4. promoted;
    5. with all snapshots expired but those of savepoints."""
    face, into, lake = server.face, tmp_path / "in", tmp_path / "lake"
    tables = [lake / "db" / query for query in QUERIES]
    conf = {**CONF, **iceberg.conf(lake, spark), "spark.sql.shuffle.partitions": "1"}
    put(into, 0, 4)
    args = (str(into), str(lake))
    do(face, RunScript(name="a", script="job.py", code=CODE, args=args, conf=conf, master="local[2]", python=runtimes.python(spark)))
    await_rows(server, "a", lake, "main", expected(4), expected(4))
    savepoint = do(face, Take("a"))
    noted = {image.query: image.snapshot for image in savepoint.queries}
    assert {query: noted[query] and noted[query].snapshot for query in QUERIES} == dict(
        zip(QUERIES, map(iceberg.head, tables), strict=True)
    )  # type: ignore[union-attr]
    put(into, 4, 3)
    await_rows(server, "a", lake, "main", expected(7), expected(7))
    server.stop("a", savepoint=False)
    heads = [iceberg.head(table) for table in tables]

    do(face, Fork(savepoint.id, name="b", code=CHANGED))
    await_rows(server, "b", lake, "b", expected(7), expected(7, changed_from=4))
    until(lambda: all(face.ask(Compare("a", "b", query=query)).rows_a == 5 * KEYS for query in QUERIES))
    same, other = (face.ask(Compare("a", "b", query=query)) for query in QUERIES)
    assert (same.rows_a, same.equal, same.only_a, same.only_b, same.changed) == (5 * KEYS, 5 * KEYS, 0, 0, 0)
    assert (other.rows_a, other.rows_b, other.equal) == (5 * KEYS, 5 * KEYS, 4 * KEYS)
    assert [iceberg.head(table) for table in tables] == heads, "the parent's branch is as it was"
    server.stop("b", savepoint=False)

    uncommit(server, "b", "sums")
    put(into, 7, 1)
    do(face, Resume("b"))
    await_rows(server, "b", lake, "b", expected(8), expected(8, changed_from=4))
    assert "sink.mended" in kinds(server, "b")

    back = Resume("a", from_savepoint=savepoint.id)
    assert [sink.action for sink in face.plan(back).sinks] == ["cut", "cut"]
    do(face, back)
    await_rows(server, "a", lake, "main", expected(8), expected(8))
    assert all(iceberg.head(table) != head for table, head in zip(tables, heads, strict=True))

    do(face, Promote("b", state=StateFrom.VARIANT))
    await_rows(server, "a", lake, "main", expected(8), expected(8, changed_from=4))
    put(into, 8, 1)
    for name, branch in (("a", "main"), ("b", "b")):
        await_rows(server, name, lake, branch, expected(9), expected(9, changed_from=4))

    noted_ids = {query: image.snapshot for query, image in noted.items() if image is not None}
    made = [len(iceberg.opened(table).metadata.snapshots) for table in tables]
    do(face, RunScript(name="expiry", script="expiry.py", code=EXPIRE, conf=conf, master="local[2]", python=runtimes.python(spark)))
    until(lambda: server.newest("expiry").state is RunState.FINISHED, what="snapshots did not expire")
    left = [{snapshot.snapshot_id for snapshot in iceberg.opened(table).metadata.snapshots} for table in tables]
    assert all(len(there) < before for there, before in zip(left, made, strict=True))
    assert [noted_ids[query] in there for query, there in zip(QUERIES, left, strict=True)] == [True, True]
    assert face.plan(Fork(savepoint.id, name="c")).refusal is None
