"""File sinks across restores and crashes, with the real job: nothing dropped, nothing twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from tests.driver.process import ROOT, Driver, Drivers, batches

JOBS = ROOT / "pipelines" / "jobs"
Row = tuple[datetime, str, int, int]


def generate(events: Path, files: int) -> None:
    arguments = ["--out", str(events), "--files", str(files), "--rate", "20", "--interval", "10", "--posts", "5", "--late", "0"]
    arguments += ["--start", "2025-01-01T00:00:00Z", "--promote-after", "30", "--fast"]
    subprocess.run([sys.executable, JOBS / "post_events.py", *arguments], check=True)


def expected(events: Path) -> set[Row]:
    """The counts, by plain Python."""
    views: Counter[tuple[datetime, str]] = Counter()
    clicks: Counter[tuple[datetime, str]] = Counter()
    for path in events.glob("events-*.json"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            moment = datetime.fromisoformat(event["event_time"]).replace(microsecond=0, tzinfo=None)
            key = (moment - timedelta(seconds=moment.second % 10), event["post"])
            (views if event["kind"] == "view" else clicks)[key] += 1
    return {(*key, views[key], clicks[key]) for key in views | clicks}


def logged(sink: Path) -> list[Path]:
    """The files that the sink's log lists; Spark reads those of them that lie below `sink`."""
    logs = [path for path in (sink / "_spark_metadata").iterdir() if not path.name.startswith(".")]
    entries = (entry for log in logs for entry in log.read_text().splitlines()[1:])
    return sorted({Path(json.loads(entry)["path"].removeprefix("file://")) for entry in entries})


def written(sink: Path) -> list[Row]:
    """What Spark would read: the rows of the files that the sink's log lists."""
    query = "SELECT window_start, post, views, clicks FROM read_parquet(?)"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return [tuple(row) for row in connection.execute(query, [[str(path) for path in logged(sink)]]).fetchall()]


def correct(sink: Path, events: Path) -> None:
    rows = written(sink)
    assert len(rows) > 20
    assert len(set(rows)) == len(rows), "nothing twice"
    last = max(row[0] for row in rows)
    assert {row for row in expected(events) if row[0] <= last} == set(rows), "nothing dropped"


def engage(drivers: Drivers, run: str, job: str, events: Path, **named: object) -> Driver:
    script = named.pop("script", JOBS / "post_engagement.py")
    arguments = ["--events", str(events), "--output", str(drivers.output(job)), "--available-now"]
    return drivers.start(run, script, *arguments, job=job, **named)  # type: ignore[arg-type]


COPY = """
import sys
from pyspark.sql import SparkSession

read, output = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema(spark.read.parquet(read).schema).parquet(read)
rows.writeStream.queryName("copy").trigger(availableNow=True).start(output, format="parquet").awaitTermination()
"""


def copy(drivers: Drivers, run: str, sink: Path) -> list[Row]:
    """The rows that another job has read of the sink's files so far."""
    reader = drivers.start(run, COPY, str(sink), str(drivers.output("reader")), job="reader")
    assert reader.wait() == 0, reader.log
    return sorted(written(drivers.output("reader")))


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_carried_and_mended_sinks_hold_what_an_uninterrupted_run_would(drivers: Drivers) -> None:
    events = drivers.folder / "events"
    generate(events, 4)
    first = engage(drivers, "run-1", "a", events)
    assert first.wait() == 0, first.log
    assert first.exit["reason"] == "finished"
    checkpoint, sink = drivers.checkpoints("a") / "engagement", drivers.output("a") / "engagement"
    last = batches(checkpoint, "commits")[-1]

    shutil.copytree(checkpoint, drivers.checkpoints("b") / "engagement")
    shutil.copytree(sink / "_spark_metadata", drivers.folder / "sink-log")
    (drivers.folder / "sink-log" / "root").write_text(str(sink))
    generate(events, 11)

    assert copy(drivers, "copy-1", sink) == sorted(written(sink))
    before = set(logged(sink))

    # A kill between the sink's commit and the checkpoint's.
    (checkpoint / "commits" / str(last)).unlink()
    (checkpoint / "commits" / f".{last}.crc").unlink()
    mended = engage(drivers, "run-2", "a", events)
    assert mended.wait() == 0, mended.log
    assert [event["kind"] for event in mended.events] == ["sink.kept"]
    assert (mended.progress[0]["batchId"], mended.progress[0]["sink"]["description"]) == (last, "NoopTable"), "done again without the sink"
    assert before < set(logged(sink)), "under the names that they had"
    correct(sink, events)
    assert copy(drivers, "copy-2", sink) == sorted(written(sink)), "nothing is read twice"

    carried = engage(drivers, "run-3", "b", events, sink_logs={"engagement": str(drivers.folder / "sink-log")}, taken_paths=(str(sink),))
    assert carried.wait() == 0, carried.log
    assert [event["kind"] for event in carried.events] == ["sink.carried"]
    assert batches(drivers.checkpoints("b") / "engagement", "commits")[-1] > 10, "past a compaction of the sink's log"
    correct(drivers.output("b") / "engagement", events)
    assert sorted(written(drivers.output("b") / "engagement")) == sorted(written(sink))
    assert all(path.is_relative_to(drivers.output("b") / "engagement") for path in logged(drivers.output("b") / "engagement"))

    failing = drivers.folder / "one_more.py"
    code = (JOBS / "post_engagement.py").read_text().replace(".agg(", '.agg(F.max("kind").alias("kind"),')
    failing.write_text(code.replace('"views", "clicks")', '"views", "clicks", "kind")'))
    failed = engage(drivers, "run-4", "b", events, script=failing)
    generate(events, 12)
    assert failed.wait() == 1, failed.log
    assert failed.exit["error_class"] == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", failed.log
    assert failed.exit["message"].startswith("query engagement: [STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE]")


TABLES = """
import sys
from pyspark.sql import SparkSession

table, location, events = sys.argv[1:4]
spark = SparkSession.builder.getOrCreate()
if location != "-":
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table} (post STRING, kind STRING) USING parquet LOCATION '{location}'")
posts = spark.readStream.schema("post STRING, kind STRING").option("maxFilesPerTrigger", 1).json(events)
query = posts.writeStream.trigger(availableNow=True).toTable(table, queryName="posts", format="parquet")
query.awaitTermination()
"""


def table_rows(sink: Path) -> int:
    with duckdb.connect() as connection:
        return int(connection.execute("SELECT count(*) FROM read_parquet(?)", [[str(path) for path in logged(sink)]]).fetchall()[0][0])


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_table_of_files_is_a_file_sink(drivers: Drivers) -> None:
    """Its log is carried into the fork's own table, which is made where there is none yet."""
    events, warehouse = drivers.folder / "events", {"spark.sql.warehouse.dir": str(drivers.folder / "warehouse")}
    generate(events, 3)
    mine, theirs = drivers.output("a") / "posts", drivers.output("b") / "posts"
    first = drivers.start("run-1", TABLES, "posts", str(mine), str(events), job="a")
    assert first.wait() == 0, first.log
    assert [(query["sink"], query["sink_path"], query["sink_table"]) for query in first.queries] == [("parquet", str(mine), "posts")]
    before = table_rows(mine)

    for job in ("b", "d"):
        shutil.copytree(drivers.checkpoints("a") / "posts", drivers.checkpoints(job) / "posts")
    shutil.copytree(mine / "_spark_metadata", drivers.folder / "sink-log")
    (drivers.folder / "sink-log" / "root").write_text(str(mine))
    generate(events, 5)
    carried = {"posts": str(drivers.folder / "sink-log")}
    second = drivers.start("run-2", TABLES, "posts", str(theirs), str(events), job="b", sink_logs=carried, taken_paths=(str(mine),))
    assert second.wait() == 0, second.log
    lines = sum(len(path.read_text().splitlines()) for path in events.glob("events-*.json"))
    assert (0 < before < lines) and table_rows(theirs) == lines

    same = drivers.start("run-3", TABLES, "posts", str(mine), str(events), job="c", taken_paths=(str(mine),))
    assert same.wait() == 1
    assert "another job's file sink already writes" in same.exit["message"]
    made = drivers.start("run-4", TABLES, "posts", "-", str(events), job="d", conf=warehouse, sink_logs=carried)
    assert made.wait() == 0, made.log
    assert made.queries[0]["sink_path"] == str(drivers.folder / "warehouse" / "posts"), "where the catalog put it"
    assert table_rows(drivers.folder / "warehouse" / "posts") == lines
