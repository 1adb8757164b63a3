"""State moved from the HDFS-backed store to RocksDB: what a fork on the other store puts out is what the job puts out."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.conversions import StateStore
from pipelines.domain.savepoints import Savepoint
from pipelines.sandbox import aliases
from pipelines.sandbox import conversion as sandbox
from pipelines.savepoint import conversion, library, rescaling
from pipelines.workspace import conversions
from tests.savepoint import at_home, queries, queries_python
from tests.savepoint.matrix import CHANGELOG, CODE, FORMAT_2, HDFS, ROCKSDB, SNAPSHOTS_2, Bench, Line, configured, difference, write_inputs

pytestmark = pytest.mark.spark

FILES = (3, 6)
"""Files before the conversion, and at the end."""
LINES = {
    "aggregation, changelog, files": (Line(queries.windowed, HDFS, sink="parquet"), CHANGELOG),
    "session windows, format2": (Line(queries.sessions, HDFS), FORMAT_2),
    "deduplication and aggregation, format2 without changelog": (Line(queries.distinct_then_windowed, HDFS), SNAPSHOTS_2),
    "join, format2": (Line(queries.left_join, HDFS, inputs=("events", "clicks")), FORMAT_2),
    "deduplication for a while, rocksdb": (Line(queries.distinct_for_a_while, HDFS), ROCKSDB),
    "state in pandas, format2": (Line(queries_python.state_in_pandas, HDFS), FORMAT_2),
    "state in pandas, rocksdb": (Line(queries_python.state_in_pandas, HDFS), ROCKSDB),
    "without a key, changelog": (Line(queries.total, HDFS, mode="update"), CHANGELOG),
}


AT_HOME = "join, format2"
"""This one is converted in HDFS."""


@pytest.mark.parametrize("name", LINES)
def test_rows_are_those_of_a_run_that_keeps_its_store(spark: Any, tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    line, conf = LINES[name]
    folder = tmp_path / "a b"
    folder.mkdir()
    bench = Bench(line, folder, spark)
    write_inputs(line, folder, 0, FILES[0])
    bench.run("original")
    savepoint = bench.take("original", "sp-1")
    bench.fork(savepoint, "fork")
    was = contents(folder / "savepoints")
    with at_home.carried(bench.checkpoint("fork").parent, request.getfixturevalue("hdfs_url") if name == AT_HOME else "") as place:
        convert(bench, savepoint, place, conf)
    assert contents(folder / "savepoints") == was, "not a byte of the savepoint is another"
    write_inputs(line, folder, FILES[0], FILES[1] - FILES[0])
    bench.run("original")
    moved = Bench(replace(line, conf=conf), folder, spark)
    moved.run("fork")
    (image,) = moved.take("fork", "sp-2").queries
    assert image.provider == "rocksdb" and image.state_format == (2 if conf in (FORMAT_2, SNAPSHOTS_2) else 1)
    whole = bench.rows("original")
    if line.sink == "parquet":
        assert difference(moved.rows("fork"), whole) == {} and whole
    else:
        first = savepoint.batch + 1
        assert difference(moved.rows("fork"), bench.rows("original", first)) == {} and bench.rows("original", first)


def convert(bench: Bench, savepoint: Savepoint, checkpoints: str, conf: Mapping[str, str]) -> None:
    """What the sandbox does with a copy, in this process."""
    manifest = library.manifest(bench.library, savepoint.id)
    plan = conversion.plan(rescaling.of_savepoint(bench.library, manifest), StateStore.ROCKSDB, bench.spark.version)
    assert plan.refusal is None, plan.refusal
    task = conversions.task(manifest, CODE, {}, plan, checkpoints)
    folder = bench.folder / f"conversion-{uuid.uuid4()}"
    folder.mkdir()
    with aliases.plain(task.stores) as stores:
        done = sandbox.convert(configured(bench.spark, conf), replace(task, stores=stores), folder)
    conversions.check(done)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
