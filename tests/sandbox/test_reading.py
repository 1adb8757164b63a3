"""Tables of state read by Spark, row for row what the checkpoint's input implies and what Spark's own source says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.catalog import states as questions
from pipelines.checkpoint import closure
from pipelines.sandbox import reading
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.readings import ROWS_FOLDER, Far, ReadRows, ReadTask
from pipelines.storage.addresses import open_storage
from pipelines.verbs.state import QueryState
from tests.checkpoint.materialise import materialise
from tests.golden import make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = Path(__file__).parents[1] / "golden"
PROVIDERS = {"hdfs": ("hdfs", 1), "limit": ("hdfs", 1)}


def ms(at: str) -> int:
    return round(datetime.fromisoformat(at.removesuffix("Z")).replace(tzinfo=UTC).timestamp() * 1000)


def events(folder: Path, batches: int, seed: int = 0) -> list[dict[str, Any]]:
    """The input of a golden checkpoint."""
    make.write_input(folder, batches, seed)
    return [json.loads(line) for file in sorted(folder.iterdir()) for line in file.read_text().splitlines()]


class Read:
    """A table of a golden checkpoint, read."""

    def __init__(self, spark: SparkSession, folder: Path, golden: str, store: str, variable: str = "", limit: int = 1_000) -> None:
        self.folder = folder / f"{golden}-{store}-{variable}-{limit}"
        source, target = open_storage(str(GOLDEN / golden / "checkpoint")), open_storage(str(self.folder / "checkpoint"))
        batch = max(int(path.name) for path in (GOLDEN / golden / "checkpoint" / "commits").iterdir() if path.name.isdigit())
        materialise(closure.closure(source, batch), source, target)
        provider, state_format = PROVIDERS.get(golden, ("rocksdb", 2))
        self.store = Store("q", str(self.folder / "checkpoint"), batch, provider, state_format, 0, "", store)
        self.found: ReadRows = reading.read(spark, ReadTask(TASK_FORMAT, "test", "local[2]", {}, self.store, variable, limit), self.folder)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        files = [str(path) for path in sorted((self.folder / ROWS_FOLDER).glob("*.parquet"))]
        return sorted(questions.query({questions.STATE: files}, QueryState("sp-1", sql=sql)).rows)


@pytest.mark.spark
def test_every_kind_of_table_is_read_row_for_row(spark: SparkSession, tmp_path: Path) -> None:
    every = events(tmp_path / "input", make.BATCHES)
    opened = [e for e in every if "00:30" <= e["ts"][11:16] < "00:40"]
    window = (ms("2026-01-01T00:30:00Z"), ms("2026-01-01T00:40:00Z"))
    totals = [(*window, post, sum(e["n"] for e in opened if e["post"] == post)) for post in ("p0", "p1", "p2")]
    for golden in ("hdfs", "rocksdb_format2"):
        counts = Read(spark, tmp_path, golden, "default")
        assert counts.rows("SELECT key.window.start, key.window.end, key.post, value.sum FROM state") == totals
        assert (counts.found.total, counts.found.rows) == (3, 3)

    few = events(tmp_path / "few", make.FEW_BATCHES)
    side = Read(spark, tmp_path, "join", "left")
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
    own = session.read.format("statestore").option("storeName", "left-keyWithIndexToValue").load(side.store.checkpoint)
    spark_says = sorted((row.post, round(row.ts.timestamp() * 1000), row.n) for row in own.select("value.*").collect())
    assert side.rows("SELECT value.post, value.ts, value.n FROM state") == spark_says
    assert spark_says and set(spark_says) <= {(e["post"], ms(e["ts"]), e["n"]) for e in few}
    assert sum(rows for (rows,) in Read(spark, tmp_path, "join", "left-keyToNumValues").rows("SELECT value.value FROM state")) == len(
        spark_says
    )

    totals_of = Read(spark, tmp_path, "transform", "default", "total")
    assert totals_of.rows("SELECT key.post, value.total FROM state") == [
        (post, sum(e["n"] for e in few if e["post"] == post)) for post in ("p0", "p1", "p2")
    ]
    seen = Read(spark, tmp_path, "transform", "default", "seen")
    assert seen.rows("SELECT key.post, user_map_key.n FROM state") == sorted((e["post"], e["n"]) for e in few)

    distinct = Read(spark, tmp_path, "named", "default", limit=4)
    assert (distinct.found.rows, distinct.found.total) == (4, 10)
    assert len(distinct.rows("SELECT key.post, key.ts FROM state")) == 4
    assert distinct.rows("SELECT column_name FROM (DESCRIBE state)") == [("key",), ("partition_id",)]
    assert Far.read(distinct.folder) is not None
    assert Read(spark, tmp_path, "limit", "default").rows("SELECT value.value FROM state") == [(30,)]


@pytest.mark.spark
def test_fields_of_one_name_are_told_apart(spark: SparkSession) -> None:
    """The state of two sums: Spark calls both columns `sum`."""
    frame = spark.sql("SELECT named_struct('sum', 1, 'sum', 2, 'n', 3) AS value")
    assert [row.asDict(recursive=True) for row in reading.storable(frame).collect()] == [{"value": {"sum": 1, "sum_2": 2, "n": 3}}]
