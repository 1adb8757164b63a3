"""State belongs to a query by its name: a renamed one is refused, one that is left behind is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.domain.runs import EVENTS_FILE
from pipelines.driver.query_names import ExpectedQueries
from pipelines.driver.records import Records
from tests.driver.process import Drivers, batches

TWO = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rate = spark.readStream.format("rate").load()
try:
    rate.writeStream.queryName("renamed").format("noop").start()
except Exception as refused:
    print("refused", refused.code, "|", refused, "|", refused.hint)
for name in ("a", "added"):
    rate.writeStream.queryName(name).format("noop").trigger(once=True).start().awaitTermination()
"""


class Watched:
    """What a run that expects `expected` says."""

    def __init__(self, folder: Path, expected: tuple[str, ...], new: tuple[str, ...] = (), quiet_s: float = 3600) -> None:
        self.folder = folder
        spec = RunSpec(SPEC_FORMAT, RunId("r"), JobName("j"), VersionId("v"), "", (), {}, "", "", "", expected=expected, new_queries=new)
        self.expected = ExpectedQueries(spec, Records(folder, lambda: 1), quiet_s)

    def left_behind(self) -> list[str]:
        path = self.folder / EVENTS_FILE
        events: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        assert {event["kind"] for event in events} <= {"query.left_behind"}
        return [event["query"] for event in events]


def test_where_nothing_is_expected_anything_may_start(tmp_path: Path) -> None:
    watched = Watched(tmp_path, ())
    watched.expected.refuse("x")
    watched.expected.note("x")
    watched.expected.all_started()
    assert watched.left_behind() == []


@pytest.mark.parametrize("query", ["a", "b c", "new one"])
def test_what_may_start(tmp_path: Path, query: str) -> None:
    Watched(tmp_path, ("a", "b c"), ("new one",)).expected.refuse(query)


def test_a_query_without_state_is_refused_before_and_after_the_others_started(tmp_path: Path) -> None:
    watched = Watched(tmp_path, ("a", "b"))
    for name in ("a", "b"):
        with pytest.raises(Conflict, match=r"^Query x has no state here; the state is of a, b\.$") as refused:
            watched.expected.refuse("x")
        assert refused.value.code == "query.unexpected" and "--new-query x" in refused.value.hint
        watched.expected.note(name)


def test_what_never_started_is_told_once(tmp_path: Path) -> None:
    watched = Watched(tmp_path, ("a", "b", "c"))
    watched.expected.note("b")
    assert watched.left_behind() == []
    watched.expected.all_started()
    watched.expected.all_started()
    assert watched.left_behind() == ["a", "c"]


def test_a_script_that_never_ends_is_up_after_a_while(tmp_path: Path) -> None:
    watched = Watched(tmp_path, ("a", "b"), quiet_s=0.05)
    watched.expected.note("a")
    timer = watched.expected._timer
    assert timer is not None
    timer.join()
    assert watched.left_behind() == ["b"]


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_real_driver_refuses_a_renamed_query_and_tells_of_the_one_left_behind(drivers: Drivers) -> None:
    driver = drivers.start("run-1", TWO, told={"expected": ["a", "b"], "new_queries": ["added"]})
    assert driver.wait() == 0, driver.log
    refused = "refused query.unexpected | Query renamed has no state here; the state is of a, b. | Give it the name that it had"
    assert refused in driver.log
    assert not (drivers.checkpoints() / "renamed").exists()
    assert [query["query"] for query in driver.queries] == ["a", "added"]
    assert batches(drivers.checkpoints() / "added", "commits") == [0]
    assert [(event["kind"], event["query"]) for event in driver.events] == [("query.left_behind", "b")]
