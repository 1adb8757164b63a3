"""Jobs that write to tables (`toTable`), with real Spark: resumed, forked and taken back they hold what one without a break does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.runs import RunState
from pipelines.domain.verdicts import Outcome
from pipelines.verbs.check import Check
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests.driver.process import CONF
from tests.savepoint.streaming import write_events
from tests.waiting import until
from tests.workspace.serving import Server, serving

HALF, FILES = 4, 9
"""One a batch: the sinks' logs are compacted every third batch, before the savepoint and after it."""
COMPACTED = {**CONF, "spark.sql.streaming.fileSink.log.compactInterval": "3"}
TABLES = """
import sys
from pyspark.sql import SparkSession, functions as F

events, output = sys.argv[1:3]
spark = SparkSession.builder.getOrCreate()
spark.sql("CREATE DATABASE IF NOT EXISTS raw")
spark.sql("CREATE TABLE IF NOT EXISTS raw.seen (event_time TIMESTAMP, kind STRING, post STRING) USING parquet PARTITIONED BY (post)")
if not spark.catalog.tableExists("kinds"):
    spark.sql("CREATE TABLE kinds (kind STRING, label STRING) USING parquet")
    spark.sql("INSERT INTO kinds VALUES ('view', 'v')")
spark.sql(f"CREATE TABLE labels (kind STRING) USING parquet LOCATION '{events}-labels'")
schema = "event_time TIMESTAMP, kind STRING, post STRING"
rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(events)
labelled = rows.join(spark.table("kinds"), "kind", "left").join(spark.table("labels"), "kind", "left")
windows = labelled.withWatermark("event_time", "10 seconds").groupBy(F.window("event_time", "10 seconds"), "post").count()
counts = windows.select(F.col("window.start").alias("start"), "post", "count")
started = [
    counts.writeStream.queryName("counts").trigger(availableNow=True).toTable("counts", partitionBy=["post"]),
    rows.writeStream.queryName("seen").partitionBy("post").trigger(availableNow=True).toTable("raw.seen"),
]
for query in started:
    query.awaitTermination()
for table in ("counts", "raw.seen"):
    read = sorted(str(sorted(row.asDict().items())) for row in spark.table(table).collect())
    with open(f"{output}/{table}.txt", "w") as file:
        file.write("\\n".join(read))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "my data #1 (ä)") as running:
        yield running


def ended(server: Server, job: str) -> dict[str, list[str]]:
    """Table -> its rows as Spark reads them at the end of the job's run, which succeeded."""
    until(lambda: not server.newest(job).state.live)
    assert server.newest(job).state is RunState.FINISHED, server.face.ask(ReadLog(job)).text
    return {path.name: path.read_text().splitlines() for path in (server.face.layout.root / "jobs" / job / "output").glob("*.txt")}


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_tables_hold_what_they_would_without_a_break(server: Server, tmp_path: Path) -> None:
    events = write_events(tmp_path / "events", HALF)
    script = RunScript(name="a", script="tables.py", code=TABLES, args=(str(events), "{output}"), conf=COMPACTED)
    do(server.face, script)
    half = ended(server, "a")
    saved = do(server.face, Take("a"))
    home = server.face.layout.root / "jobs"
    assert {(image.sink_table, image.sink_path) for image in saved.queries} == {
        ("counts", str(home / "a/warehouse/tables/counts")),
        ("raw.seen", str(home / "a/warehouse/tables/raw.db/seen")),
    }

    part = next(part for part in do(server.face, Check(saved.id, code=f"{TABLES}# a comment\n")).parts if part.operator == 0)
    assert part.outcome is Outcome.CANNOT_TELL and len(part.reasons) == 2, part.reasons
    assert "It reads files at file:{warehouse}/tables/kinds that were changed" in part.reasons[0]

    write_events(events, FILES)
    do(server.face, Resume("a"))
    plan = server.face.plan(Fork(saved.id, name="b"))
    assert {sink.action for sink in plan.sinks} == {"continue"}
    resumed = ended(server, "a")
    assert all(set(half[table]) < set(resumed[table]) for table in half), "the history, and more"
    do(server.face, Fork(saved.id, name="b"))
    do(server.face, Resume("a", from_savepoint=saved.id))
    do(server.face, RunScript(name="whole", script="tables.py", code=TABLES, args=script.args, conf=COMPACTED))
    whole = ended(server, "whole")
    assert len(whole["counts.txt"]) > 10 and len(whole["raw.seen.txt"]) > 500
    assert whole == resumed == ended(server, "a") == ended(server, "b")
    assert {query.sink_path for query in server.face.ask(ShowJob("b")).queries} == {
        str(home / "b/warehouse/tables/counts"),
        str(home / "b/warehouse/tables/raw.db/seen"),
    }
