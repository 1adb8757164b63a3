"""Queries that a script starts again and again in one process: what comes out is what plain Spark gives the same script."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipelines.driver.query_names import GivenNames
from tests.driver.process import Drivers, batches

LOOPS = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession

events, base = Path(sys.argv[1]), Path(sys.argv[2])
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
base.mkdir(parents=True, exist_ok=True)
old = len(list(events.iterdir())) if events.exists() else 0

def note(name):
    def each(batch, number):
        with (base / name).open("a") as file:
            file.writelines(json.dumps([number, *row]) + "\\n" for row in sorted(batch.collect()))
    return each

def run(writer, location="", **more):
    if location:
        writer = writer.option("checkpointLocation", str(base / "checkpoints" / location))
    query = writer.trigger(availableNow=True).start(**more)
    query.awaitTermination()
    return query

for turn in range(old, old + 2):
    events.mkdir(exist_ok=True)
    (events / f"{turn}.json").write_text("".join(json.dumps({"n": turn * 4 + i, "key": i % 3}) + "\\n" for i in range(4)))
    rows = spark.readStream.schema("n INT, key INT").json(str(events))
    counts = rows.groupBy("key").count()
    run(counts.writeStream.outputMode("update").foreachBatch(note("counted")), "counts")
    again = rows.writeStream.foreachBatch(note("again")).option("checkpointLocation", str(base / "checkpoints" / "again"))
    run(again)
    run(again)
    run(rows.writeStream.format("json"), "files", path=str(base / "files"))
    run(rows.writeStream.queryName(f"turn {turn}").foreachBatch(note("renamed")), "one place")
    for part in range(2):
        run(rows.where(f"n % 2 = {part}").writeStream.queryName("same").foreachBatch(note(f"part {part}")), f"part {part}")
    run(rows.writeStream.format("memory").queryName("seen"))
    with (base / "memory").open("a") as file:
        file.write(json.dumps([turn, *sorted(row.n for row in spark.table("seen").collect())]) + "\\n")
files = spark.read.schema("n INT, key INT").json(str(base / "files")).collect()
(base / "files.txt").write_text(json.dumps(sorted(files)))
spark.stop()
"""
NOTED = ("counted", "again", "renamed", "part 0", "part 1", "memory", "files.txt")


def plain(script: Path, *args: str) -> None:
    """The script as Spark alone runs it."""
    done = subprocess.run([sys.executable, str(script), *args], env=dict(os.environ), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def noted(base: Path) -> dict[str, Any]:
    return {name: (base / name).read_text().splitlines() for name in NOTED}


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_loops_give_the_rows_of_plain_spark(drivers: Drivers, tmp_path: Path) -> None:
    """Unnamed with a location, into a foreachBatch and into files; one writer twice; renamed at one location; one name at two; into
    memory."""
    script = tmp_path / "loops.py"
    script.write_text(LOOPS)
    ours, theirs = (str(tmp_path / "events of ours"), str(tmp_path / "ours")), (str(tmp_path / "events"), str(tmp_path / "theirs"))
    driver = drivers.start("run-1", script, *ours)
    assert driver.wait(300) == 0, driver.log
    plain(script, *theirs)
    assert noted(tmp_path / "ours") == noted(tmp_path / "theirs")
    starts = Counter(query["query"] for query in driver.queries)
    assert starts == {"query-0": 2, "query-1": 4, "query-2": 2, "turn_0": 2, "same": 2, "same-1": 2, "seen": 2}
    assert {name: batches(drivers.checkpoints() / name, "commits") for name in ("query-0", "same-1")} == {
        "query-0": [0, 1],
        "same-1": [0, 1],
    }
    assert driver.exit["reason"] == "finished"
    assert {tuple(query["sources"]) for query in driver.queries} == {("json",)}


class Names:
    """Names given one after the other, each query started."""

    def __init__(self) -> None:
        self.names = GivenNames()

    def __call__(self, asked: str = "", location: str = "") -> str:
        name = self.names.of(asked, location)
        self.names.note(name, location)
        return name


@pytest.mark.parametrize(
    ("starts", "names"),
    [
        ([("", "/a"), ("", "/a")], ["query-0", "query-0"]),
        ([("", "/a"), ("", "/b"), ("", "/a"), ("", "/b")], ["query-0", "query-1", "query-0", "query-1"]),
        ([("", ""), ("", "")], ["query-0", "query-1"]),
        ([("x", ""), ("", ""), ("x", ""), ("", "")], ["x", "query-1", "x", "query-2"]),
        ([("x", "/a"), ("x", "/b"), ("x", "/a"), ("x", "/b"), ("x", "/c")], ["x", "x-1", "x", "x-1", "x-2"]),
        ([("x", "/a"), ("y", "/a"), ("", "/a")], ["x", "x", "x"]),
        ([("x", ""), ("x", "/a"), ("x", "")], ["x", "x", "x"]),
        ([("query-1", ""), ("", "")], ["query-1", "query-2"]),
    ],
    ids=["again", "alternating", "temporary", "named again", "a name at places", "a place with names", "named, later placed", "taken"],
)
def test_the_same_location_is_the_same_query(starts: list[tuple[str, str]], names: list[str]) -> None:
    given = Names()
    assert [given(*start) for start in starts] == names
