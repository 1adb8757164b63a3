"""A job that reads a growing Iceberg table and writes another: forked in the middle of a snapshot, killed, moved and taken back in time, it
has the rows of one that nobody touched."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from pipelines.domain.holdings import Usable
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.runs import RunState
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.jobs import ListOperators, ReadLog
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.words import formats, offsets
from tests import iceberg, iceberg_tables, runtimes
from tests.waiting import until
from tests.workspace.delta_forks import expected
from tests.workspace.serving import Server, serving
from tests.workspace.test_delta_source_exact import POISON, has_input_rows_of_poison
from tests.workspace.test_runtimes_exact import CONF, KEYS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("kept_jvms"),
    pytest.mark.skipif(bool(iceberg.missing()), reason=iceberg.missing()),
]
CODE = """
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.format("iceberg").option("streaming-max-files-per-micro-batch", 1).load("lake.db.events")
rows = rows.withColumn("n", F.expr("if(n < 0, raise_error('poison'), n)"))
sums = rows.withWatermark("ts", "1 minute").groupBy(F.window("ts", "2 minutes"), "k").agg(F.sum(F.col("n")).alias("s"))
sums = sums.select("k", F.minute("window.start").alias("at"), "s")
sums.writeStream.queryName("sums").trigger(processingTime="0 seconds").format("iceberg").toTable("lake.db.sums")
"""
CHANGED = CODE.replace('F.col("n")', 'F.col("n") * 10').replace('.format("iceberg").option', ".option").replace(".load(", ".table(")
EACH = 2
"""Files of a snapshot, each with two minutes."""
SAVED = 3
"""Files that the savepoint has: one of its snapshot's two."""


def grow(table: Any, folder: Path, first: int, snapshots: int) -> None:
    """Snapshots of the table that the job reads."""
    for number in range(first, first + snapshots):
        table.add_files([minutes(folder, EACH * number + at) for at in range(EACH)])


def minutes(folder: Path, file: int, n: int | None = None) -> str:
    """A file of two minutes, every row twice, as in `expected`: nothing is late. `n`: what all its rows have instead."""
    folder.mkdir(exist_ok=True)
    minute, path = 2 * file, folder / f"part-{file:03d}.parquet"
    rows = [
        {"k": f"k{key}", "ts": datetime(2026, 1, 1, 0, minute, key, tzinfo=UTC), "n": minute + key if n is None else n}
        for key in range(KEYS)
    ]
    parquet.write_table(pa.Table.from_pylist(rows * 2, schema=iceberg_tables.ROWS), path)
    return str(path)


def await_rows(server: Server, name: str, sums: Path, branch: str, rows: list[tuple[Any, ...]]) -> None:
    def are_there() -> bool:
        newest = server.newest(name)
        assert newest.attempt or not newest.state.has_failed or newest.exit is None or newest.exit.reason == "killed", server.face.ask(
            ReadLog(name)
        ).text[-4000:]
        return iceberg.written(sums, branch) == rows

    until(are_there)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


def test_the_rows_are_those_of_one_that_nobody_touched(server: Server, tmp_path: Path) -> None:
    face, lake, files = server.face, tmp_path / "lake", tmp_path / "files"
    events, sums = lake / "db" / "events", lake / "db" / "sums"
    table = iceberg_tables.create(events)
    grow(table, files, 0, 2)
    begun = iceberg_tables.newest(table)
    conf = {**CONF, **iceberg.conf(lake), "spark.sql.shuffle.partitions": "1"}
    do(face, RunScript(name="a", script="job.py", code=CODE, conf=conf, master="local[2]", python=runtimes.python()))
    await_rows(server, "a", sums, "main", expected(4))
    savepoint = do(face, Take("a", batch=SAVED - 1))
    (image,) = savepoint.queries
    assert (image.sources, image.tables) == (("iceberg",), (str(events),))
    assert offsets.words(image.offsets[0].offset) == f"snapshot {begun}, 1 file of it read"

    do(face, Fork(savepoint.id, name="b", code=CHANGED))
    grow(table, files, 2, 2)
    await_rows(server, "b", sums, "b", expected(8, changed_from=SAVED))
    await_rows(server, "a", sums, "main", expected(8))
    (image,) = do(face, Take("b")).queries
    assert (image.sources, image.tables) == (("iceberg",), (str(events),)), "it reads the table by its name"
    until(lambda: [part.amount for part in face.ask(ListOperators("a"))[0].sources[0].backlog] == [0])
    (source,) = face.ask(ListOperators("a"))[0].sources
    read = f"snapshot {iceberg_tables.newest(table)}, 2 files of it read"
    assert (formats.source_name(source.description), offsets.words(source.end), offsets.words(source.latest)) == (
        "Iceberg db/events",
        read,
        read,
    )
    held = do(face, AskHoldings(savepoint.id)).holdings
    assert held is not None and held.usable is Usable.YES and held.until_ms is not None
    server.stop("b", savepoint=False)

    skipping = Fork(savepoint.id, name="c", offsets={"0": f'{{"snapshot_id":{table.metadata.snapshots[2].snapshot_id}}}'})
    assert [(moved.skipped, moved.again) for moved in face.plan(skipping).moved] == [(1, 0)]
    do(face, skipping)
    pid = server.newest("a").pid
    assert pid is not None
    grow(table, files, 4, 1)
    os.kill(pid, signal.SIGKILL)
    await_rows(server, "c", sums, "c", [row for row in expected(10) if row[1] != 2 * SAVED])
    server.stop("c", savepoint=False)
    await_rows(server, "a", sums, "main", expected(10))
    server.stop("a", savepoint=False)
    back = Resume("a", batch=savepoint.queries[0].batch)
    plan = face.plan(back)
    assert plan.refusal is None and [sink.action for sink in plan.sinks] == ["cut"]
    newest = iceberg.head(sums)
    do(face, back)
    until(lambda: iceberg.head(sums) != newest)
    await_rows(server, "a", sums, "main", expected(10))
    do(face, SetRestartStrategy("a", Strategy.NONE))
    table.add_files([minutes(files, 10, POISON)])
    until(lambda: server.newest("a").state is RunState.FAILED)
    has_input_rows_of_poison(server, "a")
    iceberg_tables.expire(table, begun)
    refused = face.plan(Fork(savepoint.id, name="d")).refusal
    assert refused is not None and refused.code == "source.gone" and f"snapshot {begun} has expired" in refused.message
    assert face.plan(Resume("a")).refusal is None, "it has read that"
    assert face.plan(Fork(savepoint.id, name="d", offsets={"0": "earliest"})).refusal is None

    table.delete("k = 'k0'")
    reason = f"Spark fails at snapshot {iceberg_tables.newest(table)}, which overwrites rows, unless the code sets streaming-skip-overwrite"
    assert any(reason in warning for warning in face.plan(Resume("a")).warnings)
    past = Resume("a", past_batch=True)
    assert (refused := face.plan(past).refusal) is not None and refused.code == "resume.sink_remembers"
    do(face, replace(past, force=True))
    until(lambda: (over := server.newest("a").exit) is not None and "Cannot process overwrite snapshot" in over.message)
