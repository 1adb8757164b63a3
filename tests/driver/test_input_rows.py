"""The input of a batch that fails, read again by real Spark source by source: the rows of that batch and no other, bounded as text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from pipelines.checkpoint.offsets import BY_NAME
from pipelines.domain.ids import JobName, QueryName, RunId, VersionId
from pipelines.domain.input_rows import MOST_CHARS, RESULT_FILE, TASK_FILE, InputTask, SourceRows, SourceTask
from pipelines.domain.run_specs import SPEC_FILE, SPEC_FORMAT, RunSpec
from pipelines.driver.input_rows import reader
from pipelines.driver.input_rows.reader import Reader
from pipelines.driver.input_rows.values import FILE
from pipelines.driver.intercept import Asked
from pipelines.driver.planning.sides import Over
from pipelines.savepoint import source_checkpoints
from pipelines.storage.addresses import open_storage
from tests.driver.process import ROOT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "name STRING, raw BINARY, many ARRAY<INT>, at TIMESTAMP"
LONG = "x" * (MOST_CHARS + 1)


def write(folder: Path, file: int, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    rows = [{"name": name, "raw": "w6Q=", "many": [1, 2], "at": "2026-11-20T10:00:00Z"} for name in names]
    (folder / f"{file}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def both(spark: SparkSession, tmp_path: Path, named: bool = False) -> DataFrame:
    """Two sources of files, of which the second is also narrowed: what the job does with the rows is not what its sources give."""
    readers = {side: spark.readStream.name(side) if named else spark.readStream for side in ("left", "right")}
    left, right = (reader.schema(SCHEMA).json(str(tmp_path / side)) for side, reader in readers.items())
    return left.select("name").union(right.where("name != 'b2'").select("name"))


def failing(frame: DataFrame, batch: int) -> None:
    if batch == 1:
        raise RuntimeError("poison")


def run_batch(frame: DataFrame, checkpoint: Path) -> None:
    writer = frame.writeStream.trigger(once=True).option("checkpointLocation", str(checkpoint))
    writer.foreachBatch(failing).start().awaitTermination()


def read(frame: Any, folder: Path, limit: int, keys: tuple[str, ...] = ("0", "1")) -> tuple[SourceRows, ...]:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    storage = open_storage(str(folder / "checkpoint"))
    held = {key: key.removesuffix("-gone") for key in keys}
    sources = tuple(SourceTask(key, "json", f"{limit}-{key}", "", source_checkpoints.files(storage, 1, held[key])) for key in keys)
    for source in sources:
        for path, data in source_checkpoints.of_source(storage, 1, held[source.key], str(uuid4())):
            target = folder / source.checkpoint / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    ran = RunSpec(SPEC_FORMAT, RunId("r"), JobName("a"), VersionId("v"), "job.py", (), {}, "", "", "")
    reading = Reader(ran, InputTask(QueryName("both"), limit, sources), folder, DataStreamWriter.start)
    with pytest.raises(Over):
        reading.started(frame.writeStream, Asked(name="both"), lambda: None)
    return reading.sources


def test_code_that_fails_before_tells_no_secret(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import sys\nraise ValueError(f'refused: {sys.argv}')\n")
    args = ("--password", "of-argument-5523", "{env:TOLD}")
    spec = RunSpec(SPEC_FORMAT, RunId("r"), JobName("a"), VersionId("v"), str(tmp_path / "job.py"), args, {}, "local[1]", "", "")
    (tmp_path / SPEC_FILE).write_text(json.dumps(asdict(spec)))
    (tmp_path / TASK_FILE).write_text(json.dumps({"query": "both", "limit": 1, "sources": []}))
    environment = {**os.environ, "TOLD": "of-variable-7301"}
    subprocess.run([sys.executable, "-m", "pipelines.driver.input_rows", str(tmp_path)], env=environment, cwd=ROOT, check=True)
    problem = json.loads((tmp_path / RESULT_FILE).read_text())["problem"]
    assert problem.endswith(f"'--password', '{'*' * 16}', '{'*' * 16}']"), problem


@pytest.mark.spark
def test_each_source_gives_the_rows_of_the_batch_before_the_code_sees_them(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "left", 0, "a0")
    write(tmp_path / "right", 0, "b0")
    frame = both(spark, tmp_path)
    run_batch(frame, tmp_path / "checkpoint")
    write(tmp_path / "left", 1, "a1", LONG)
    write(tmp_path / "right", 1, "b1", "b2", "b3")
    with pytest.raises(Exception, match="poison"):
        run_batch(frame, tmp_path / "checkpoint")
    assert source_checkpoints.moved(open_storage(str(tmp_path / "checkpoint")), 1) == {"0": True, "1": True}
    write(tmp_path / "right", 2, "b4")

    left, right = read(frame, tmp_path, 100)
    assert [column.name for column in left.columns] == ["name", "raw", "many", "at", FILE]
    assert [row[0] for row in left.rows] == ["a1", LONG[:MOST_CHARS]] and (left.cut, left.more, left.problem) == (1, False, "")
    assert left.rows[0][1:3] == ("ä", "[1,2]") and str(left.rows[0][4]).endswith("/left/1.json")
    assert [row[0] for row in right.rows] == ["b1", "b2", "b3"]

    _, right = read(frame, tmp_path, 2)
    assert [row[0] for row in right.rows] == ["b1", "b2"] and right.more

    (tmp_path / "left" / "1.json").unlink()
    left, right, none = read(frame, tmp_path, 3, ("0", "1", "0-gone"))
    assert not left.rows and left.problem.startswith("Gone: 1 of 1 files, the first file:") and "/left/1.json" in left.problem
    assert len(right.rows) == 3 and not right.more
    assert none.problem == reader.GONE


@pytest.mark.spark
def test_a_source_that_the_code_names_is_found_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set(BY_NAME, "true")
    try:
        for file in range(2):
            write(tmp_path / "left", file, f"a{file}")
            write(tmp_path / "right", file, f"b{file}")
            if file == 0:
                run_batch(both(spark, tmp_path, named=True), tmp_path / "checkpoint")
        with pytest.raises(Exception, match="poison"):
            run_batch(both(spark, tmp_path, named=True), tmp_path / "checkpoint")
        right, left = read(both(spark, tmp_path, named=True), tmp_path, 100, ("right", "left"))
    finally:
        spark.conf.unset(BY_NAME)
    assert ([row[0] for row in left.rows], [row[0] for row in right.rows]) == (["a1"], ["b1"])
    assert (left.problem, right.problem) == ("", "")
