"""State rescaled in the middle, 4 → 8 → 2: what a job, its fork with more partitions, and that one's fork with fewer put out together is
what a run puts out that keeps its partitions over the same batches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import sink_log
from pipelines.domain.ids import SavepointId
from pipelines.domain.operators import JOIN
from pipelines.domain.savepoints import Savepoint
from pipelines.sandbox import aliases, lookup, reading
from pipelines.sandbox.counts import Store
from pipelines.sandbox.lookups import LookUpTask
from pipelines.savepoint import library, states
from pipelines.storage.local import LocalStorage
from tests.savepoint import queries, queries_python
from tests.savepoint.matrix import CHANGELOG, FORMAT_2, JOIN_FORMAT, QUERY, ROCKSDB, SNAPSHOTS_2, Bench, Line, difference, write_inputs

pytestmark = pytest.mark.spark

PARTITIONS = {"spark.sql.shuffle.partitions": "4"}
STEPS = (3, 5, 7)
"""Files before the first rescaling, the second, and the end."""
LINES = {
    "deduplication and aggregation, format2 without changelog": Line(queries.distinct_then_windowed, SNAPSHOTS_2 | PARTITIONS),
    "join, changelog": Line(queries.left_join, CHANGELOG | PARTITIONS, inputs=("events", "clicks")),
    "join of column families, format2": Line(queries.left_join, FORMAT_2 | PARTITIONS | {JOIN_FORMAT: "3"}, inputs=("events", "clicks")),
    "join by time, format2": Line(queries.left_join, FORMAT_2 | PARTITIONS | {JOIN_FORMAT: "4"}, inputs=("events", "clicks")),
    "join by time without a watermark, format2": Line(
        queries.endless_join, FORMAT_2 | PARTITIONS | {JOIN_FORMAT: "4"}, inputs=("events", "clicks")
    ),
    "deduplication, rocksdb, files": Line(queries.distinct_for_a_while, ROCKSDB | PARTITIONS, sink="parquet"),
    "state variables and timers, format2": Line(queries_python.state_variables, FORMAT_2 | PARTITIONS),
}


AT_HOME = "join by time, format2"
"""The second rescaling of this line is done in HDFS: we write its rows ourselves."""


@pytest.mark.parametrize("name", LINES)
def test_rows_are_those_of_a_run_that_keeps_its_partitions(spark: Any, tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    keeps_its_rows(spark, tmp_path / "a b", LINES[name], request.getfixturevalue("hdfs_url") if name == AT_HOME else "")


def keeps_its_rows(spark: Any, folder: Path, line: Line, home: str = "") -> None:
    """The second rescaling is done at `home`."""
    folder.mkdir()
    bench, before = Bench(line, folder, spark), 0
    jobs = ("original", "wide", "narrow")
    for job, files, partitions in zip(jobs, STEPS, (None, 8, 2), strict=True):
        if partitions is not None:
            previous = jobs[jobs.index(job) - 1]
            savepoint = bench.take(previous, f"sp-{previous}")
            bench.home = home if job == "narrow" else ""
            bench.fork(savepoint, job, partitions)
            assert bench.committed(job) == savepoint.batch + 1, "the rewriting is a batch of its own"
        write_inputs(bench.line, folder, before, files - before)
        bench.run(job, "reference")
        before = files
    last = bench.take("narrow", "sp-last")
    assert {operator.partitions for operator in last.queries[0].operators} == {2}
    expected = unnumbered(bench.rows("reference"))
    assert expected
    if line.conf.get(JOIN_FORMAT) == "4":
        assert_found_by_key(bench, "narrow")
    if "join" in line.query.__name__:
        assert keys_of(bench, last) == [["field0"]] * 2
        assert_changes_are_told(bench, "sp-original")
    if bench.line.sink == "parquet":
        assert difference(bench.rows("narrow"), bench.rows("reference")) == {}
        log = sink_log.whole(LocalStorage(bench.output("narrow")), sink_log.FOLDER)
        assert log.batches[-1].id == bench.committed("narrow") and any(batch.compact for batch in log.batches)
    else:
        assert sum((unnumbered(bench.rows(job)) for job in jobs), Counter()) == expected


def keys_of(bench: Bench, savepoint: Savepoint) -> list[list[str]]:
    """The columns of the keys of both sides of a join, as the files of a savepoint have them."""
    manifest = library.manifest(bench.library, savepoint.id)
    tables = (table for table in states.tables(bench.library, manifest) if not table.internal)
    keys = (states.key_columns(bench.library, manifest, table) for table in tables)
    return [[field["name"] for field in key["fields"]] for key in keys if key is not None]


def assert_found_by_key(bench: Bench, job: str) -> None:
    """A key of a join in format 4 is looked up in the one partition that has it, without the event time that Spark's reader makes up."""
    held = Store(QUERY, str(bench.checkpoint(job)), bench.committed(job), "rocksdb", 2, 0, JOIN, "left")
    with aliases.plain([held]) as (store,):
        table = reading.table(bench.spark, store, "")
        assert table.schema["key"].dataType.names == ["field0"]
        places = table.groupBy("key.field0", "partition_id").count().collect()
        assert len({place.partition_id for place in places}) > 1
        key, partition, rows = max(places, key=lambda place: place.partition_id)
        key_found = lookup.look_up(bench.spark, LookUpTask(1, "", "", {}, store, "", 2, {"field0": key}))
        assert (key_found.partition, len(key_found.rows)) == (partition, rows)


def assert_changes_are_told(bench: Bench, savepoint: str) -> None:
    """What the batches made of a key of a join's side, one after the other, is what is read of it as of each of them."""
    manifest = library.manifest(bench.library, SavepointId(savepoint))
    (image,) = manifest.queries
    table = next(table for table in states.tables(bench.library, manifest) if table.store == "left")
    store, variable = states.changed_in(bench.library, manifest, table)
    checkpoint = str(bench.checkpoint("original"))
    held = Store(QUERY, checkpoint, image.batch, image.provider, image.state_format, 0, JOIN, store)
    with aliases.plain([held]) as (at,):
        task = LookUpTask(1, "", "", {}, at, variable, table.partitions, {"field0": "k1"})
        changes = lookup.look_up(bench.spark, replace(task, since=-1)).rows
        assert {"update", "append"} & {change["change_type"] for change in changes}
        for batch in (1, image.batch):
            rows = lookup.look_up(bench.spark, replace(task, store=replace(at, batch=batch))).rows
            assert Counter(map(told, rows)) == made_by([change for change in changes if change["batch_id"] <= batch]) and rows


def made_by(changes: list[Mapping[str, Any]]) -> Counter[str]:
    """The rows that the changes leave: those of one key (with a number, or an event time) are replaced, gone, or have one more."""
    held: dict[str, list[str]] = {}
    for change in changes:
        key = json.dumps(change["key"])
        kept = held.pop(key, [])
        if change["change_type"] != "delete":
            held[key] = [*(kept if change["change_type"] == "append" else []), told(change)]
    return Counter(row for rows in held.values() for row in rows)


def told(row: Mapping[str, Any]) -> str:
    return json.dumps([row["key"], row["value"]])


def unnumbered(rows: Counter[tuple[int, str]]) -> Counter[str]:
    """The rows without their batches: a rewriting takes one number."""
    counted: Counter[str] = Counter()
    for (_, row), times in rows.items():
        counted[row] += times
    return counted
