"""The truth table: every stateful operator and every cause, on both stores, planned by real Spark on a savepoint that it wrote."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.checkpoint import contracts
from pipelines.domain import judging, verdicts
from pipelines.domain.ids import QueryName
from pipelines.domain.judging import Known
from pipelines.domain.plannings import NEW, OLD, Planned, PlannedQuery, Planning, Point
from pipelines.domain.runs import RunSpec
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.domain.verdicts import Part
from pipelines.driver.planning.planner import Planner
from pipelines.storage.addresses import open_storage
from tests.driver.planning.codes import CASES, Case

STREAMING = "org.apache.spark.sql.execution.streaming.state"
STORES = {
    "hdfs": {"spark.sql.streaming.stateStore.providerClass": f"{STREAMING}.HDFSBackedStateStoreProvider"},
    "rocksdb": {
        "spark.sql.streaming.stateStore.providerClass": f"{STREAMING}.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    },
}
QUERY = QueryName("query")
ROWS = ({"k": "a", "v": 1, "w": 2, "t": "2026-01-01T00:00:00Z"}, {"k": "b", "v": 5, "w": 6, "t": "2026-01-01T00:01:00Z"})


class Table:
    """One store's savepoints: a query of each case that ran two batches, and plans of other code on it."""

    def __init__(self, name: str, spark: Any, folder: Path) -> None:
        self.name, self.spark, self.folder = name, spark, folder
        self.input = folder / "input"
        for at in (1, 2):
            place = folder / ("input" if at == 1 else "input2")
            place.mkdir()
            for batch in range(2):
                (place / f"{batch}.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
                os.utime(place / f"{batch}.json", (1_767_225_600 + batch, 1_767_225_600 + batch))
        self._count = 0

    def frame(self, code: str) -> Any:
        scope = {"spark": self.spark, "__name__": "__main__"}
        exec(compile(code.replace("{input}", str(self.input)), "script.py", "exec"), scope)
        return scope["df"]

    def run(self, case: Case) -> Path:
        checkpoint = self.folder / case.name.replace(" ", "-")
        writer = self.frame(case.code).writeStream.format("noop").outputMode(case.mode.lower())
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
        return checkpoint

    def plan(self, code: str, mode: str, checkpoint: Path, checks: bool) -> tuple[PlannedQuery, Path]:
        self._count += 1
        folder, linked = self.folder / f"planned-{self._count}", self.folder / f"linked-{self._count}"
        shutil.copytree(checkpoint, linked, copy_function=os.link)
        point = Point(QUERY, str(linked), 1)
        planner = Planner(spec(), folder, {QUERY: point}, checks, 1_234_567_890)
        return planner.plan(self.spark, self.frame(code), QUERY, mode), folder / "contract" / QUERY


def spec() -> RunSpec:
    texts = dict.fromkeys(("run", "job", "version", "script", "master", "checkpoints", "output"), "")
    return RunSpec.from_json({**texts, "format": 1, "args": (), "conf": {}})


def image(checkpoint: Path) -> QueryImage:
    lines = (checkpoint / "offsets" / "1").read_text().splitlines()
    conf = json.loads(lines[1])["conf"]
    offsets = tuple(SourceOffset(str(at), line) for at, line in enumerate(lines[2:]))
    return QueryImage(QUERY, "id", 1, 0, 0, offsets, "hdfs", 1, (), conf, "noop", "", 0, 0, sources=("json",) * len(offsets))


@pytest.fixture(scope="module", params=STORES)
def table(request: pytest.FixtureRequest, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    for key, value in STORES[request.param].items():
        spark.conf.set(key, value)
    yield Table(request.param, spark, tmp_path_factory.mktemp(request.param))
    for key in STORES[request.param]:
        spark.conf.unset(key)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_on_each_change_is_the_one_that_spark_and_the_rows_give(table: Table, case: Case) -> None:
    if case.rocksdb_only and table.name == "hdfs":
        return
    checkpoint = table.run(case)
    before = files(checkpoint)
    old, old_folder = table.plan(case.code, case.mode, checkpoint, False)
    wrong = []
    for variant in case.variants:
        new, new_folder = table.plan(variant.of(case.code), case.mode, checkpoint, True)
        kept, then, now = (
            contracts.read(open_storage(str(place)), at) for place, at in ((checkpoint, 1), (old_folder, 0), (new_folder, 0))
        )
        known = Known(image(checkpoint), kept, then, now)
        parts = judging.judge(known, Planning("", "", {OLD: Planned((old,)), NEW: Planned((new,))}))
        told = verdicts.worst(part.outcome for part in parts)
        if told is not variant.outcome or variant.says not in words(parts):
            wrong.append((variant.name, variant.outcome.value, told.value, words(parts), new.failure, new.refusal))
    assert files(checkpoint) == before, "planning changes nothing that is linked"
    assert wrong == []


def words(parts: tuple[Part, ...]) -> str:
    return " | ".join(reason for part in parts for reason in part.reasons)
