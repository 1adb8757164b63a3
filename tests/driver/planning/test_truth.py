"""The truth table: every stateful operator and every cause, each on both stores, planned by real Spark on a savepoint that it wrote,
and run on from there: what happens is what the verdict says. Of a cause that several queries have each of them is on one store, in turn."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from pipelines.checkpoint import contracts
from pipelines.domain import judging, operator_places, verdicts
from pipelines.domain.ids import QueryName
from pipelines.domain.judging import Known
from pipelines.domain.plannings import NEW, OLD, Planned, PlannedQuery, Planning, QueryCheckpoint
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.domain.verdicts import Outcome, Part
from pipelines.driver import installed
from pipelines.driver.planning.planner import Planner
from pipelines.storage.addresses import open_storage
from tests.driver.planning.codes import CASES, Case, Variant, spec

STREAMING = "org.apache.spark.sql.execution.streaming.state"
STORES = {
    "hdfs": {
        "spark.sql.streaming.stateStore.providerClass": f"{STREAMING}.HDFSBackedStateStoreProvider",
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "1",
    },
    "rocksdb": {
        "spark.sql.streaming.stateStore.providerClass": f"{STREAMING}.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    },
}
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
"""Batches without data, which put out what the watermark has passed: only where that is all that is put out."""
QUERY = QueryName("query")
ROWS = ({"k": "a", "v": 1, "w": 2, "t": "2026-01-01T00:00:00Z"}, {"k": "b", "v": 5, "w": 6, "t": "2026-01-01T00:01:00Z"})
LATER = (
    {"k": "a", "v": 3, "w": 4, "t": "2026-01-01T00:02:00Z"},
    {"k": "c", "v": 1, "w": 7, "t": "2026-01-01T00:03:00Z"},
    {"k": "b", "v": 2, "w": 9, "t": "2026-01-01T00:40:00Z"},
)
"""What comes after the savepoint: to a key that is there, to a new one, and one that lets the watermark pass all others."""


@cache
def turns() -> Mapping[tuple[str, str], Sequence[str]]:
    """Case and variant -> the stores that it is run on: one after the other for a cause that several cases have, both for any other."""
    pairs = [(case, variant.name) for case in CASES for variant in case.variants]
    cases = Counter(cause for case, cause in pairs if not case.rocksdb_only)
    seen: Counter[str] = Counter()
    stores: dict[tuple[str, str], Sequence[str]] = {}
    for case, cause in pairs:
        if case.rocksdb_only:
            stores[case.name, cause] = ["rocksdb"]
            continue
        stores[case.name, cause] = list(STORES) if cases[cause] == 1 else [list(STORES)[seen[cause] % len(STORES)]]
        seen[cause] += 1
    return stores


class Table:
    """One store's savepoints: a query of each case that ran two batches, and plans of other code on it."""

    def __init__(self, name: str, spark: Any, folder: Path) -> None:
        self.name, self.spark, self.folder = name, spark, folder
        self._count = 0
        self.installed = installed.of(spark, folder)

    def frame(self, code: str) -> Any:
        scope = {"spark": self.spark, "__name__": "__main__"}
        exec(compile(code.replace("{input}", str(self.input)), "script.py", "exec"), scope)
        return scope["df"]

    def run(self, case: Case) -> Path:
        """The checkpoint of two batches; there is more to read after them."""
        name = case.name.replace(" ", "-")
        self.input, checkpoint = self.folder / f"{name}-input", self.folder / name
        for at, rows in enumerate((ROWS, ROWS)):
            self._put(at, rows)
        self.spark.conf.set(NO_DATA, str(case.mode == "Append").lower())
        rows = self.went_on(case.code, case.mode, checkpoint)
        if isinstance(rows, Exception):
            raise rows
        self._put(2, LATER)
        return checkpoint

    def _put(self, at: int, rows: tuple[Any, ...]) -> None:
        for place in (self.input, Path(f"{self.input}2")):
            place.mkdir(exist_ok=True)
            (place / f"{at}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
            os.utime(place / f"{at}.json", (1_767_225_600 + at, 1_767_225_600 + at))

    def went_on(self, code: str, mode: str, checkpoint: Path) -> list[str] | Exception:
        """What Spark puts out in going on from a checkpoint to the end of the input, or its refusal."""
        rows: list[str] = []
        writer = self.frame(code).writeStream.outputMode(mode.lower()).option("checkpointLocation", str(checkpoint))
        writer = writer.foreachBatch(lambda frame, batch: rows.extend(str(tuple(row)) for row in frame.collect()))
        try:
            writer.trigger(availableNow=True).start().awaitTermination()
        except (StreamingQueryException, AnalysisException) as error:
            return error
        return sorted(rows)

    def has_turn(self, case: Case, variant: Variant) -> bool:
        """Whether the variant is planned and run on this store."""
        return self.name in turns()[case.name, variant.name]

    def linked(self, checkpoint: Path) -> Path:
        self._count += 1
        return Path(shutil.copytree(checkpoint, self.folder / f"linked-{self._count}", copy_function=os.link))

    def plan(self, code: str, mode: str, checkpoint: Path, checks: bool) -> tuple[PlannedQuery, Path]:
        linked = self.linked(checkpoint)
        folder = self.folder / f"planned-{self._count}"
        point = QueryCheckpoint(QUERY, str(linked), 1)
        planner = Planner(spec(), folder, {QUERY: point}, checks, 1_234_567_890)
        return planner.plan(self.spark, self.frame(code), QUERY, mode), folder / "contract" / QUERY


def image(checkpoint: Path) -> QueryImage:
    lines = (checkpoint / "offsets" / "1").read_text().splitlines()
    noted = json.loads(lines[1])
    offsets = tuple(SourceOffset(str(at), line) for at, line in enumerate(lines[2:]))
    sources, at_ms = ("json",) * len(offsets), noted["batchTimestampMs"]
    return QueryImage(QUERY, "id", 1, at_ms, 0, offsets, "hdfs", 1, (), noted["conf"], "noop", "", 0, 0, sources=sources)


@pytest.fixture(scope="module", params=STORES)
def table(request: pytest.FixtureRequest, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Table:
    session = spark.newSession()
    for key, value in STORES[request.param].items():
        session.conf.set(key, value)
    return Table(request.param, session, tmp_path_factory.mktemp(request.param))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_query_and_every_cause_meets_both_stores() -> None:
    """But for those that run on RocksDB alone."""
    for part in (0, 1):
        met: dict[str, set[str]] = {}
        for pair, stores in turns().items():
            met.setdefault(pair[part], set()).update(stores)
        of_rocksdb = {(case.name, variant.name)[part] for case in CASES if case.rocksdb_only for variant in case.variants}
        assert {name for name, stores in met.items() if stores != set(STORES)} <= of_rocksdb


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_on_each_change_is_the_one_that_spark_and_the_rows_give(table: Table, case: Case) -> None:
    if not any(table.has_turn(case, variant) for variant in case.variants):
        return
    checkpoint = table.run(case)
    before = files(checkpoint)
    old, old_folder = table.plan(case.code, case.mode, checkpoint, False)
    wrong: list[Any] = []
    reference = table.went_on(case.code, case.mode, table.linked(checkpoint))
    for variant in case.variants:
        if not table.has_turn(case, variant):
            continue
        new, new_folder = table.plan(variant.of(case.code), case.mode, checkpoint, True)
        kept, then, now = (
            contracts.read(open_storage(str(place)), at) for place, at in ((checkpoint, 1), (old_folder, 0), (new_folder, 0))
        )
        noted = replace(table.installed, packages={**table.installed.packages, **variant.noted})
        known = Known(image(checkpoint), kept, then, now, noted)
        parts = judging.judge(known, Planning("", table.installed.python, "", {OLD: Planned((old,)), NEW: Planned((new,))}))
        told = verdicts.worst(part.outcome for part in parts)
        if told is not variant.outcome or variant.says not in words(parts):
            wrong.append((variant.name, variant.outcome.value, told.value, words(parts), new.failure, new.refusal))
        went_on = table.went_on(variant.of(case.code), case.mode, table.linked(checkpoint))
        if not agrees(told, starts(parts), went_on, reference, shows=variant.shows):
            wrong.append((variant.name, told.value, went_on, reference))
    assert files(checkpoint) == before, "neither planning nor going on changes what is linked"
    assert wrong == []


def starts(parts: tuple[Part, ...]) -> bool:
    """Whether Spark starts it by itself: an operator's state has to be taken away first where it is dropped."""
    return all(part.outcome.starts and operator_places.name_of(part.query, part.operator or 0) not in part.dropped for part in parts)


def agrees(told: Outcome, starts: bool, went_on: list[str] | Exception, reference: list[str] | Exception, *, shows: bool) -> bool:
    """Whether what happened is what the verdict says; `reference` is what the unchanged code puts out."""
    if not starts or isinstance(went_on, Exception):
        return not starts and isinstance(went_on, Exception)
    return (went_on != reference) == (shows and told is Outcome.CHANGED_MEANING)


def words(parts: tuple[Part, ...]) -> str:
    return " | ".join(reason for part in parts for reason in part.reasons)
