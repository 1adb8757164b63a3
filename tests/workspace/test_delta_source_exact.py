"""A job that reads a growing Delta table and writes another: killed, forked and taken back in time, it has the rows of one that nobody
touched; in `tests/long/test_connectors.py` it is promoted too, and its fork goes on when its parent's table is gone. From Spark 4 on the
other one has a VARIANT column."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from pipelines.domain.decisions import StateFrom
from pipelines.domain.holdings import Usable
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.savepoint import delta_tables
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.input_rows import ReadInputRows
from pipelines.verbs.jobs import ListOperators, ReadLog
from pipelines.verbs.promote import Promote
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.words import offsets
from tests import delta, runtimes
from tests.waiting import until
from tests.workspace.conftest import job
from tests.workspace.delta_forks import expected, written
from tests.workspace.serving import Server, serving
from tests.workspace.test_runtimes_exact import CONF, KEYS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(1200),
    pytest.mark.usefixtures("kept_jvms"),
    pytest.mark.skipif(bool(delta.missing(runtimes.NEWER)), reason=delta.missing(runtimes.NEWER)),
]
CODE = """
import sys
from pyspark.sql import SparkSession, functions as F

table, into = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(table).withWatermark("ts", "1 minute")
rows = rows.withColumn("n", F.expr("if(n < 0, raise_error('poison'), n)"))
sums = rows.groupBy(F.window("ts", "2 minutes"), "k").agg(F.sum(F.col("n")).alias("s"))
sums = sums.select("k", F.minute("window.start").alias("at"), "s")
same = F.to_json(F.struct("k", "at", "s"))
sums = sums.withColumn("v", F.parse_json(same) if hasattr(F, "parse_json") else same)
sums.writeStream.queryName("sums").format("delta").trigger(processingTime="0 seconds").start(into)
"""
CHANGED = CODE.replace('F.col("n")', 'F.col("n") * 10')
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("k", "string"), ("ts", "timestamp"), ("n", "integer"))
    ],
}
POISON = -1
EACH = 2
"""Files of a version, each with two minutes."""


def grow(table: Path, first: int, versions: int) -> None:
    """Versions of the table that the job reads."""
    for version in range(first, first + versions):
        actions = [minutes(table, EACH * version + at) for at in range(EACH)]
        delta.commit(table, version, [*([described()] if version == 0 else []), *actions], with_data=False)


def described() -> Mapping[str, Any]:
    more = {"format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(SCHEMA), "partitionColumns": [], "createdTime": 1}
    return {"metaData": {**delta.described()["metaData"], **more}}


def minutes(table: Path, file: int, n: int | None = None) -> Mapping[str, Any]:
    """A file of two minutes, every row twice, as in `expected`: nothing is late. `n`: what all its rows have instead."""
    table.mkdir(exist_ok=True)
    minute, path = 2 * file, f"part-{file:03d}.parquet"
    rows = [
        {"k": f"k{key}", "ts": datetime(2026, 1, 1, 0, minute, key, tzinfo=UTC), "n": minute + key if n is None else n}
        for key in range(KEYS)
    ]
    columns = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("n", pa.int32())])
    parquet.write_table(pa.Table.from_pylist(rows * 2, schema=columns), table / path)
    size = (table / path).stat().st_size
    return {"add": {"path": path, "size": size, "partitionValues": {}, "modificationTime": 1_767_225_600_000 + file, "dataChange": True}}


def await_rows(server: Server, name: str, table: Path, rows: list[tuple[Any, ...]]) -> None:
    def are_there() -> bool:
        newest = server.newest(name)
        assert newest.attempt or not newest.state.has_failed or newest.exit is None or newest.exit.reason == "killed", server.face.ask(
            ReadLog(name)
        ).text[-4000:]
        return written(table) == rows

    until(are_there)


def operations(table: Path) -> list[str]:
    """What the table's history says, oldest first."""
    commits = sorted((table / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for commit in commits for line in commit.read_text().splitlines() if "commitInfo" in line]
    return [line["commitInfo"]["operation"] for line in lines if "commitInfo" in line]


def names(table: Path) -> set[str]:
    """The data files that a reader sees now."""
    return {Path(file).name for file in delta_tables.files(str(table))}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


def test_the_rows_are_those_of_one_that_nobody_touched(server: Server, tmp_path: Path) -> None:
    savepoint = goes_back(server, tmp_path, runtimes.NEWER)
    server.stop("a", savepoint=False)
    goes_on_elsewhere(server, savepoint, tmp_path / "table")


def goes_on_elsewhere(server: Server, savepoint: Savepoint, table: Path) -> None:
    """A fork that reads a version again, which its state has: what is still open counts it twice."""
    skips, again = (Fork(savepoint.id, name="m", offsets={"0": f'{{"version":{version}}}'}) for version in (3, 1))
    assert [(moved.skipped, moved.again) for fork in (skips, again) for moved in server.face.plan(fork).moved] == [(2, 0), (0, 2)]
    do(server.face, again)
    rows = [(key, at, s * 2 if at in (4, 6) else s) for key, at, s in expected(8)]
    await_rows(server, "m", server.face.layout.output(job("m")) / "tables" / "sums", rows)

    do(server.face, SetRestartStrategy("m", Strategy.NONE))
    gone = delta.remove("part-000.parquet", dataChange=True, deletionTimestamp=1_767_225_600_000)
    delta.commit(table, 4, [gone], with_data=False)
    for fork in (Fork(savepoint.id, name="d"), replace(skips, name="d")):
        (told,) = (warning for warning in server.face.plan(fork).warnings if "deletes rows" in warning)
        assert "version 4 deletes rows: its source fails there, unless the code gives it skipChangeCommits or ignoreDeletes" in told
    until(lambda: server.newest("m").state is RunState.FAILED)
    assert "ignoreDeletes" in server.face.ask(ReadLog("m")).text, "Delta says the same"


def goes_back(server: Server, tmp_path: Path, spark: str) -> Savepoint:
    """On a PySpark: 1. killed; 2. forked with other code; 3. taken back in time, to the savepoint that is returned."""
    face, table, into = server.face, tmp_path / "table", tmp_path / "sums"
    own = face.layout.output(job("b")) / "tables" / "sums"
    conf = {**CONF, **delta.conf(spark), "spark.sql.shuffle.partitions": "1"}
    grow(table, 0, 2)
    args = (str(table), str(into))
    do(face, RunScript(name="a", script="job.py", code=CODE, args=args, conf=conf, master="local[2]", python=runtimes.python(spark)))
    await_rows(server, "a", into, expected(4))
    savepoint = do(face, Take("a"))
    (image,) = savepoint.queries
    assert (image.sources, image.tables, image.removals) == (("delta",), (str(table),), ("fail",))
    grow(table, 2, 1)
    await_rows(server, "a", into, expected(6))

    pid = server.newest("a").pid
    assert pid is not None
    grow(table, 3, 1)
    os.kill(pid, signal.SIGKILL)
    await_rows(server, "a", into, expected(8))
    until(lambda: [part.amount for part in face.ask(ListOperators("a"))[0].sources[0].backlog] == [0])
    (source,) = face.ask(ListOperators("a"))[0].sources
    assert (offsets.words(source.end), offsets.words(source.latest)) == ("version 4", "version 4")
    assert do(face, AskHoldings(savepoint.id)).holdings.usable is Usable.YES  # type: ignore[union-attr]

    do(face, Fork(savepoint.id, name="b", code=CHANGED))
    await_rows(server, "b", own, expected(8, changed_from=4))
    server.stop("a", savepoint=False)

    back = Resume("a", batch=savepoint.batch)
    plan = face.plan(back)
    assert plan.refusal is None and [sink.action for sink in plan.sinks] == ["cut"]
    do(face, back)
    until(lambda: "RESTORE" in operations(into))
    await_rows(server, "a", into, expected(8))
    return savepoint


def has_the_rows_of_one_that_nobody_touched(server: Server, tmp_path: Path, spark: str) -> None:
    """Then: 4. promoted; 5. refused what the table has no more."""
    savepoint = goes_back(server, tmp_path, spark)
    face, table, into = server.face, tmp_path / "table", tmp_path / "sums"
    own = face.layout.output(job("b")) / "tables" / "sums"
    assert face.plan(Promote("b", state=StateFrom.SAVEPOINT)).restore.sinks[0].action == "cut"  # type: ignore[union-attr]
    do(face, Promote("b", state=StateFrom.VARIANT))
    await_rows(server, "a", into, expected(8, changed_from=4))
    assert operations(into).count("RESTORE") == 2 and names(into) == names(own), "nothing was done again"
    grow(table, 4, 1)
    for name, rows in (("a", into), ("b", own)):
        await_rows(server, name, rows, expected(10, changed_from=4))
    same = face.ask(Compare("a", "b"))
    assert (same.columns, same.rows_a, same.equal, same.only_b, same.changed) == (("k", "at", "s", "v"), 8 * KEYS, 8 * KEYS, 0, 0)

    server.stop("a", savepoint=False)
    goes_on_without_its_parents_table(server, savepoint, table, into, own)
    (table / "part-009.parquet").unlink()
    assert face.plan(Resume("a")).refusal is None, "it has read that"
    refused = face.plan(Fork(savepoint.id, name="c")).refusal
    assert refused is not None and refused.code == "source.gone" and "1 of the 8 files" in refused.message

    do(face, SetRestartStrategy("b", Strategy.NONE))
    delta.commit(table, 6, [minutes(table, 6 * EACH, POISON)], with_data=False)
    until(lambda: server.newest("b").state is RunState.FAILED)
    has_input_rows_of_poison(server, "b")


def goes_on_without_its_parents_table(server: Server, savepoint: Savepoint, table: Path, into: Path, own: Path) -> None:
    """The fork `b`, whose code names that table; the savepoint is intact without it, and can be forked again. No vacuum takes more."""
    away = into.rename(into.with_name("away"))
    assert do(server.face, Verify(savepoint.id, level=Trust.INTACT)).reached is Trust.INTACT
    again = server.face.plan(Fork(savepoint.id, name="c"))
    assert again.refusal is None and [sink.action for sink in again.sinks] == ["continue"]
    grow(table, 5, 1)
    await_rows(server, "b", own, expected(12, changed_from=4))
    assert not into.exists()
    away.rename(into)


def has_input_rows_of_poison(server: Server, name: str) -> None:
    """Of a job that failed at a file of two minutes whose rows all have that `n`."""
    (source,) = do(server.face, ReadInputRows(name)).sources
    columns = [column.name for column in source.columns[:3]]
    assert (columns, source.problem, source.more) == (["k", "ts", "n"], "", False), source
    assert sorted((row[0], row[2]) for row in source.rows) == sorted((f"k{key}", str(POISON)) for key in range(KEYS) for _ in range(2))
