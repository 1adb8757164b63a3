"""A job whose one query reads the Delta table that another of them writes: each fork has the rows of a run that was never interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from pipelines.domain.errors import Conflict, Unsupported
from pipelines.domain.trust import Trust
from pipelines.savepoint import delta_tables
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests import delta, iceberg, runtimes
from tests.savepoint.streaming import STORES
from tests.waiting import until
from tests.workspace.conftest import job
from tests.workspace.serving import Server, serving
from tests.workspace.test_own_reads_exact import batches, forget_a_commit
from tests.workspace.test_runtimes_exact import CONF, KEYS, put

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(1200),
    pytest.mark.usefixtures("kept_jvms"),
    pytest.mark.skipif(bool(delta.missing(runtimes.NEWER)), reason=delta.missing(runtimes.NEWER)),
]
CODE = """
import os, sys, time
from pyspark.sql import SparkSession, functions as F

into, lake = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("k STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(into)
rows = rows.withWatermark("ts", "1 minute").dropDuplicates(["k", "ts"])
often = {"processingTime": "200 milliseconds"}
rows.selectExpr("k", "minute(ts) AS at", "n").writeStream.queryName("bronze").format("delta").trigger(**often).start(f"{lake}/bronze")
while not os.path.exists(f"{lake}/bronze/_delta_log/00000000000000000000.json"):
    time.sleep(0.1)
again = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(f"{lake}/bronze")
again.selectExpr("k", "at", "n * 2 AS s").writeStream.queryName("silver").format("delta").trigger(**often).start(f"{lake}/silver")
fed = spark.readStream.format("delta").options(readChangeFeed="true", startingVersion=0, maxFilesPerTrigger=1).load(f"{lake}/bronze")
fed.selectExpr("k", "at", "n * 2 AS s").writeStream.queryName("changes").format("delta").trigger(**often).start(f"{lake}/changes")
spark.streams.awaitAnyTermination()
"""
CHANGED = CODE.replace('AS at", "n")', 'AS at", "n * 10 AS n")')
FEED = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"
READERS = ("silver", "changes")
QUERIES = ("bronze", *READERS)
FILES = 4


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


def written(table: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for file in delta_tables.files(str(table)) for row in parquet.read_table(file).to_pylist())


def expected(files: int, times: int, changed_from: int = 99) -> list[tuple[Any, ...]]:
    """The rows of every file, which has each twice, ten times as much from a file on."""
    factors = [(file, times * (10 if file >= changed_from else 1)) for file in range(files)]
    return sorted((f"k{key}", 2 * file, factor * (2 * file + key)) for file, factor in factors for key in range(KEYS))


def await_rows(server: Server, name: str, files: int, changed_from: int = 99) -> None:
    """Waits for as many rows as there must be: one too many never goes."""
    lake, rows = server.face.layout.output(job(name)), expected(files, 2, changed_from)

    def are_there() -> bool:
        newest = server.newest(name)
        assert not newest.state.has_failed and not newest.attempt, server.face.ask(ReadLog(name)).text[-6000:]
        return all(len(written(lake / query)) >= len(rows) for query in READERS)

    until(are_there, what=f"{name}: {files} files")
    assert written(lake / "bronze") == expected(files, 1, changed_from), name
    assert written(lake / "silver") == written(lake / "changes") == rows, name


def await_commits(server: Server, queries: Sequence[str]) -> None:
    """The rows of a batch are there before it is committed."""
    checkpoints = Path(server.newest("a").checkpoints)
    until(lambda: all((checkpoints / query / "commits" / str(FILES - 1)).exists() for query in queries))


def test_each_fork_reads_its_own_table_from_where_its_parent_was(server: Server, tmp_path: Path) -> None:
    face, into = server.face, tmp_path / "in"
    conf = {**CONF, **delta.conf(runtimes.NEWER), **STORES["rocksdb_format2"], "spark.sql.shuffle.partitions": "1", FEED: "true"}
    put(into, 0, FILES)
    args, python = (str(into), "{output}"), runtimes.python(runtimes.NEWER)
    do(face, RunScript(name="a", script="job.py", code=CODE, args=args, conf=conf, master="local[2]", python=python))
    await_rows(server, "a", FILES)
    await_commits(server, QUERIES)
    newest = do(face, Take("a"))
    assert all(image.batch >= FILES - 1 for image in newest.queries)
    early = do(face, Take("a", batch={"bronze": 1}))
    assert {image.query: image.batch for image in early.queries} == dict.fromkeys(QUERIES, 1), "no version that bronze writes again"
    for reader in READERS:
        with pytest.raises(Conflict) as refused:
            do(face, Take("a", batch={"bronze": 1, reader: 2}))
        assert refused.value.code == "savepoint.ahead"

    proof = do(face, Verify(early.id, Trust.PROVED)).proof
    assert proof is not None and {batch.query: batch.output_rows for batch in proof.batches} == dict.fromkeys(QUERIES, KEYS), proof

    lake = str(face.layout.output(job("a")))
    for fork in (Fork(newest.id, name="b", sinks={"bronze": "fresh"}), Fork(newest.id, name="b", args=(str(into), lake))):
        refusal = face.plan(fork).refusal
        assert refusal is not None and refusal.code == "restore.own_read", refusal
    with pytest.raises(Unsupported, match="reads the table that query bronze writes"):
        face.plan(Fork(newest.id, name="b", lock_step=True))

    do(face, Fork(newest.id, name="b"))
    do(face, Fork(early.id, name="c", code=CHANGED))
    put(into, FILES, 1)
    await_rows(server, "a", FILES + 1)
    await_rows(server, "b", FILES + 1)
    await_rows(server, "c", FILES + 1, changed_from=2)
    server.stop("a", savepoint=False)
    server.stop("b", savepoint=False)
    back = face.plan(Resume("a", from_savepoint=early.id)).refusal
    assert back is not None and back.code == "restore.own_read" and "it would go back" in back.message
    forget_a_commit(Path(server.newest("a").checkpoints) / "bronze" / "commits")
    put(into, FILES + 1, 1)
    do(face, Resume("a"))
    do(face, Resume("b"))
    for name in ("a", "b"):
        await_rows(server, name, FILES + 2)
    assert [event.kind for event in face.ask(ListEvents("a"))].count("sink.kept") == 1


ICEBERG = """
import sys
from pyspark.sql import SparkSession

into, = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.sql("CREATE TABLE IF NOT EXISTS lake.db.bronze (k STRING, at INT, n INT) USING iceberg")
often = {"processingTime": "200 milliseconds"}
again = spark.readStream.format("iceberg").option("streaming-max-files-per-micro-batch", 1).load("lake.db.bronze")
again.selectExpr("k", "at", "n * 2 AS s").writeStream.queryName("silver").trigger(**often).format("iceberg").toTable("lake.db.silver")
rows = spark.readStream.schema("k STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(into).dropDuplicates(["k", "ts"])
bronze = rows.selectExpr("k", "minute(ts) AS at", "n").writeStream.queryName("bronze").trigger(**often)
bronze.format("iceberg").toTable("lake.db.bronze")
spark.streams.awaitAnyTermination()
"""


@pytest.mark.skipif(bool(iceberg.missing()), reason=iceberg.missing())
def test_an_iceberg_table_that_is_read_is_saved_with_its_reader_and_does_not_go_back(server: Server, tmp_path: Path) -> None:
    face, into, lake = server.face, tmp_path / "in", tmp_path / "lake"
    conf = {**CONF, **iceberg.conf(lake), "spark.sql.shuffle.partitions": "1"}

    def await_both(files: int) -> None:
        until(lambda: len(iceberg.written(lake / "db" / "silver")) >= len(expected(files, 2)) or server._fail_if_failed("a"))
        assert iceberg.written(lake / "db" / "bronze") == expected(files, 1)
        assert iceberg.written(lake / "db" / "silver") == expected(files, 2)

    put(into, 0, FILES)
    do(face, RunScript(name="a", script="job.py", code=ICEBERG, args=(str(into),), conf=conf, master="local[2]", python=runtimes.python()))
    await_both(FILES)
    await_commits(server, ("bronze", "silver"))
    newest = do(face, Take("a"))
    early = do(face, Take("a", batch={"bronze": 1}))
    assert all(image.batch >= FILES - 1 for image in newest.queries)
    assert batches(early)["bronze"] == 1 and batches(early)["silver"] < batches(newest)["silver"], "no snapshot that bronze writes again"
    refusal = face.plan(Fork(newest.id, name="b")).refusal
    assert refusal is not None and refusal.code == "restore.own_read" and "its code reads main" in refusal.message
    server.stop("a", savepoint=False)
    back = face.plan(Resume("a", from_savepoint=early.id)).refusal
    assert back is not None and back.code == "restore.own_read" and "as its writer starts" in back.message
