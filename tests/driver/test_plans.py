"""The plan that a driver writes down: Spark's own nodes, with metrics that agree with what went in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.plans import Metric, PlanNode, QueryPlan, accumulators, read_plan
from pipelines.driver import plans
from pipelines.driver.plans import Plans
from pipelines.driver.records import Records
from pipelines.storage.documents import decode
from tests.driver.process import Drivers

FILES, ROWS = 3, 40

JOB = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("post long, at timestamp").option("maxFilesPerTrigger", 1).json(sys.argv[1])
timed = events.withWatermark("at", "1 minute")
counts = timed.groupBy(F.window("at", "1 minute"), "post").count()
counts.writeStream.queryName("counts").outputMode("update").format("noop").trigger(availableNow=True).start()
other = timed.select(F.col("post").alias("other"), F.col("at").alias("then"))
pairs = timed.join(other, F.expr("post = other AND then BETWEEN at AND at + INTERVAL 1 SECOND"))
pairs.writeStream.queryName("pairs").format("parquet").trigger(availableNow=True).start(sys.argv[2])
"""


def inputs(folder: Path) -> Path:
    """Each file has its own posts, so that a batch's rows meet no others."""
    folder.mkdir()
    for number in range(FILES):
        rows = [{"post": number * ROWS + n, "at": "2026-01-01T00:00:00Z"} for n in range(ROWS)]
        (folder / f"{number}.json").write_text("\n".join(map(json.dumps, rows)))
    return folder


def plan_of(folder: Path, query: str) -> QueryPlan:
    return decode(QueryPlan, (folder / "plans" / f"{query}.json").read_bytes(), query)


def named(plan: QueryPlan, name: str) -> list[PlanNode]:
    return [node for node in plan.nodes if node.name == name]


def value(node: PlanNode, metric: str) -> float:
    return next(sql_metric.value for sql_metric in node.metrics if sql_metric.name == metric)


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_an_aggregation_and_a_join_are_written_down_with_their_rows(drivers: Drivers, tmp_path: Path) -> None:
    driver = drivers.start("run-1", JOB, str(inputs(tmp_path / "in")), str(drivers.output()))
    assert driver.wait(240) == 0, driver.log
    assert "could not be written" not in driver.log
    assert not list((driver.folder / "plans").glob(".*"))

    counts = plan_of(driver.folder, "counts")
    ran = [event["batchId"] for event in driver.progress if event["name"] == "counts" and event["numInputRows"]]
    assert counts.batch == ran[-1]
    assert [node.name for node in counts.nodes[:1]] == ["WriteToDataSourceV2"]
    (save,) = named(counts, "StateStoreSave")
    (scan,) = named(counts, "Scan json")
    assert save.operator == 0 and scan.operator is None and "opId = 0" in save.detail
    assert value(save, "number of total state rows") == FILES * ROWS
    assert value(scan, "number of output rows") == ROWS
    assert not [node for node in counts.nodes if node.name.startswith(("WholeStageCodegen", "InputAdapter"))]
    assert {edge.source for edge in counts.edges} == {node.id for node in counts.nodes[1:]}, "every other node leads on"

    pairs = plan_of(driver.folder, "pairs")
    (join,) = named(pairs, "StreamingSymmetricHashJoin")
    assert join.operator == 0
    assert (value(join, "number of output rows"), value(join, "number of total state rows")) == (ROWS, 2 * FILES * ROWS)
    sides = [edge.source for edge in pairs.edges if edge.target == join.id]
    assert [pairs.nodes[side].name for side in sides] == ["Exchange", "Exchange"]
    assert [value(scan, "number of output rows") for scan in named(pairs, "Scan json")] == [ROWS, ROWS]


def info(name: str, *children: dict[str, Any], **metrics: tuple[int, str]) -> dict[str, Any]:
    """A `SparkPlanInfo` as the event log has it; metrics are accumulator ids with their types."""
    metric_infos = [{"name": metric.replace("_", " "), "accumulatorId": at, "metricType": kind} for metric, (at, kind) in metrics.items()]
    return {"nodeName": name, "simpleString": f"{name} [x]", "children": list(children), "metadata": {}, "metrics": metric_infos}


def test_wrappers_are_left_out_and_a_part_used_twice_is_one_node() -> None:
    scan = info("Scan json ", number_of_output_rows=(1, "sum"), size_of_files_read=(2, "size"))
    exchange = info("Exchange", info("WholeStageCodegen (1)", scan, duration=(3, "timing")), shuffle_write_time=(4, "nsTiming"))
    again = info("ReusedExchange", shuffle_write_time=(4, "nsTiming"))
    join = info("SortMergeJoin", info("InputAdapter", exchange), info("ShuffleQueryStage 1", again), avg_hash_probes=(5, "average"))
    whole = info("AdaptiveSparkPlan", info("ResultQueryStage 2", join), remote_merged_blocks=(6, "sum"), **{"RocksDB:_gets": (7, "sum")})
    values = {1: 10.0, 2: 2048.0, 3: 9.0, 4: 3e6, 5: 15.0}
    plan = read_plan("q", 7, 1, whole, values)
    assert [node.name for node in plan.nodes] == ["SortMergeJoin", "Exchange", "Scan json"]
    assert [(edge.source, edge.target) for edge in plan.edges] == [(2, 1), (1, 0), (1, 0)]
    assert [(metric.name, metric.value, metric.unit) for node in plan.nodes for metric in node.metrics] == [
        ("avg hash probes", 1.5, ""),
        ("shuffle write time", 3.0, "ms"),
        ("number of output rows", 10.0, "rows"),
        ("size of files read", 2048.0, "bytes"),
    ]
    assert set(accumulators(whole)) == {1, 2, 3, 4, 5}, "what nobody looks at is not asked for"


def test_of_two_metrics_of_one_name_the_one_that_counted_is_kept() -> None:
    save = info("StateStoreSave", number_of_output_rows=(1, "sum"))
    save["metrics"] += [{**save["metrics"][0], "accumulatorId": 2}]
    for values in ({1: 24.0, 2: 0.0}, {1: 0.0, 2: 24.0}):
        (node,) = read_plan("q", 1, 1, save, values).nodes
        assert node.metrics == (Metric("number of output rows", 24.0, "rows"),)


class Query:
    """A query whose internals are not what they should be."""

    runId = "spark-1"

    @property
    def _jsq(self) -> Any:
        raise AttributeError("no such thing in this Spark")


def test_a_plan_that_cannot_be_read_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = Plans(Records(tmp_path, lambda: 0))
    writer.watch("counts", Query())
    for batch in range(3):
        writer.note("spark-1", batch, 10)
        writer.finish()
    assert capsys.readouterr().out.count("could not be written: AttributeError: no such thing") == 1
    assert not (tmp_path / "plans").exists()


@dataclass
class Execution:
    """As much of Spark's `IncrementalExecution` as is asked before the plan is read."""

    batch: int

    def currentBatchId(self) -> int:
        return self.batch


class Streaming(Query):
    """A query that says which execution is its newest."""

    newest: Execution | None = None

    @property
    def _jsq(self) -> Any:
        return self

    def streamingQuery(self) -> Any:
        return self

    def lastExecution(self) -> Execution | None:
        return self.newest


class Written(Records):
    """Remembers the batches whose plans were written."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda: 0)
        self.batches: list[int] = []

    def plan(self, plan: QueryPlan) -> None:
        self.batches.append(plan.batch)


STEPS = [
    ("the execution of a batch that has ended is at hand", [(0, 0, 10)], [0]),
    ("the next batch runs already: it is held, and written when it has ended", [(1, 0, 10), (2, 1, 10)], [1]),
    ("the held one had no rows: the next is held", [(1, 0, 10), (2, 1, 0), (2, 2, 10)], [2]),
    ("one that was missed is passed over", [(1, 0, 10), (4, 3, 10), (5, 4, 10)], [4]),
    ("batches without rows", [(0, 0, 0), (1, 1, 0)], []),
    ("before the first execution", [(None, 0, 10), (1, 1, 10)], [1]),
    ("no more than one in fifteen seconds", [(0, 0, 10), (1, 1, 10), (2, 2, 10)], [0]),
]


@pytest.mark.parametrize(("steps", "written"), [case[1:] for case in STEPS], ids=[case[0] for case in STEPS])
def test_a_plan_is_that_of_a_batch_that_has_ended(
    steps: list[tuple[int | None, int, int]], written: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step: the newest execution, the batch that has ended, its rows."""
    monkeypatch.setattr(plans, "_info", lambda execution: info("Scan"))
    monkeypatch.setattr(plans, "_values", lambda info: {})
    records, query = Written(tmp_path), Streaming()
    watched = plans.Watched("q", "spark-1", query)
    writer = Plans(records, lambda: 100.0)
    for newest, batch, rows in steps:
        query.newest = None if newest is None else Execution(newest)
        writer._look(watched, plans.Ended("spark-1", batch, rows))
    assert records.batches == written


def test_a_plan_is_written_once_a_minute_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch a second."""
    monkeypatch.setattr(plans, "_info", lambda execution: info("Scan"))
    monkeypatch.setattr(plans, "_values", lambda info: {})
    records, query, second = Written(tmp_path), Streaming(), 0
    watched = plans.Watched("q", "spark-1", query)
    writer = Plans(records, lambda: float(second))
    for second in range(180):
        query.newest = Execution(second)
        writer._look(watched, plans.Ended("spark-1", second, 10))
    assert records.batches == [0, 15, 45, 105, 165]
