"""Queries that a script starts again and again in one process: what comes out is what plain Spark gives the same script."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import folder_of
from pipelines.driver.query_names import GivenNames
from tests.driver.process import Drivers, batches

LOOPS = """
import json, sys, threading
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
threads = threading.active_count()
for _ in range(MORE):
    run(again)
(base / "threads").write_text(str(threading.active_count() - threads))
files = spark.read.schema("n INT, key INT").json(str(base / "files")).collect()
(base / "files.txt").write_text(json.dumps(sorted(files)))
spark.stop()
"""
MORE = 6
NOTED = ("counted", "again", "renamed", "part 0", "part 1", "memory", "files.txt")


def plain(script: Path, *args: str) -> None:
    """The script as Spark alone runs it."""
    done = subprocess.run([sys.executable, str(script), *args], env=dict(os.environ), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def noted(base: Path) -> dict[str, Any]:
    return {name: (base / name).read_text().splitlines() for name in NOTED}


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_loops_give_the_rows_of_plain_spark(drivers: Drivers, tmp_path: Path) -> None:
    """Unnamed with a location, into a foreachBatch and into files; one writer twice; renamed at one location; one name at two; into
    memory."""
    script = tmp_path / "loops.py"
    script.write_text(LOOPS.replace("MORE", str(MORE)))
    ours, theirs = (str(tmp_path / "events of ours"), str(tmp_path / "ours")), (str(tmp_path / "events"), str(tmp_path / "theirs"))
    driver = drivers.start("run-1", script, *ours)
    assert driver.wait(300) == 0, driver.log
    plain(script, *theirs)
    assert noted(tmp_path / "ours") == noted(tmp_path / "theirs")
    starts = Counter(query["query"] for query in driver.queries)
    once = dict.fromkeys(("query-0", "query-1", "query-2", "turn 0", "same", "same-1"), 1)
    assert starts == {**once, "seen": 2}, "a start that says nothing new is not noted; into memory each begins another query"
    assert {name: batches(drivers.checkpoints() / name, "commits") for name in ("query-0", "same-1")} == {
        "query-0": [0, 1],
        "same-1": [0, 1],
    }
    assert int((tmp_path / "ours" / "threads").read_text()) <= 2, "what a query that has ended held is let go of when another starts"
    replaced = [event for event in driver.events if event["kind"] == "checkpoint.replaced"]
    assert len(replaced) == len({event["query"] for event in replaced}), "it is said once"
    assert driver.exit["reason"] == "finished"
    assert {tuple(query["sources"]) for query in driver.queries} == {("json",)}


class Names:
    """Names given one after the other, each query started."""

    def __init__(self, before: dict[str, str] | None = None, folders: tuple[str, ...] = ()) -> None:
        self.names = GivenNames(before or {}, folders)

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


@pytest.mark.parametrize(
    ("before", "starts", "names"),
    [
        ({"query-0": "/a", "query-1": "/b"}, [("", "/b"), ("", "/a")], ["query-1", "query-0"]),
        ({"query-0": "/a", "query-1": ""}, [("", ""), ("", "/a")], ["query-1", "query-0"]),
        ({"query-0": "", "query-1": "/b"}, [("", "/b"), ("", "")], ["query-1", "query-0"]),
        ({"x": "/x", "query-1": ""}, [("x", "/x"), ("", "")], ["x", "query-1"]),
        ({"x": "/a", "x-1": "/b"}, [("x", "/b"), ("x", "/a")], ["x-1", "x"]),
        ({"query-0": "/tmp/1", "query-1": "/tmp/2"}, [("", "/tmp/3"), ("", "/tmp/4")], ["query-0", "query-1"]),
        ({"query-0": "/a", "query-1": "/b"}, [("", "/a"), ("", "/c"), ("", "/b")], ["query-0", "query-2", "query-1"]),
        ({"query-0": "/a"}, [("named", "/a")], ["named"]),
    ],
    ids=["swapped", "placed later", "placed first", "named", "a name at places", "temporary", "one more between", "named now"],
)
def test_a_location_is_the_same_query_in_a_later_run(before: dict[str, str], starts: list[tuple[str, str]], names: list[str]) -> None:
    given = Names(before)
    assert [given(*start) for start in starts] == names


def test_a_query_never_gets_the_state_of_another() -> None:
    """A new query came before one that is known by its location, in a script that shows no other location of before."""
    given = Names({"query-0": "/a"})
    given("", "/new")
    with pytest.raises(Conflict, match="The query at /a was called query-0"):
        given("", "/a")


def test_names_of_every_script_are_kept_unless_their_checkpoint_has_the_older_name() -> None:
    assert Names()("zähler 1") == "zähler 1"
    assert Names(folders=("z_hler_1",))("zähler 1") == "z_hler_1"
    both = Names(folders=("z_hler_1", folder_of("zähler 1")))
    assert (both("zähler 1"), both("z_hler_1")) == ("zähler 1", "z_hler_1")
    assert folder_of("zähler 1").isascii() and folder_of("zähler 1") != folder_of("zahler 1") and folder_of("a_b-1.c") == "a_b-1.c"


ORDER = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("post STRING, kind STRING").json(sys.argv[1])
for place in sys.argv[2:]:
    query = rows.writeStream.format("noop").option("checkpointLocation", f"/elsewhere/{place}").trigger(availableNow=True)
    (query.queryName("zähler 1") if place == "named" else query).start().awaitTermination()
"""


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_real_drivers_keep_names_and_states(drivers: Drivers) -> None:
    events = drivers.folder / "events"
    events.mkdir()
    (events / "0.json").write_text('{"post": "a", "kind": "view"}\n')
    first = drivers.start("run-1", ORDER, str(events), "a", "named", "b")
    assert first.wait() == 0, first.log
    locations = {query["query"]: query["location"] for query in first.queries}
    assert locations == {"query-0": "/elsewhere/a", "zähler 1": "/elsewhere/named", "query-2": "/elsewhere/b"}
    assert {event["name"] for event in first.progress} == set(locations), "Spark has the name as the script gave it"
    (events / "1.json").write_text('{"post": "b", "kind": "view"}\n')
    second = drivers.start("run-2", ORDER, str(events), "b", "named", "a", told={"locations": locations, "expected": [*locations]})
    assert second.wait() == 0, second.log
    assert {query["query"]: query["location"] for query in second.queries} == locations
    assert {query["query"]: query["query_id"] for query in second.queries} == {query["query"]: query["query_id"] for query in first.queries}
    assert {name: batches(drivers.checkpoints() / folder_of(name), "commits") for name in locations} == {key: [0, 1] for key in locations}
