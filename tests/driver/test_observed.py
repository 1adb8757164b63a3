"""What a real job observes, through a driver that is killed and one that goes on: each batch's numbers once, equal to what it had.

What Spark had not told yet of a committed batch when it was killed (its listeners come after the batch) is lost.
The same drivers send Spark's own metrics to a StatsD server and to files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.catalog import batches, jobs, progress, runs, series, summaries
from pipelines.catalog.opening import open_catalog
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.observed import ObservedNow
from pipelines.domain.progress import Progress
from pipelines.domain.runs import PROGRESS_FILE
from pipelines.domain.spark_metrics import SINKS, confs
from pipelines.workspace import json_lines
from tests.api.receivers import bound, lines
from tests.catalog.making import job, run
from tests.driver import killing
from tests.driver.process import Driver, Drivers
from tests.driver.process import batches as batches_of

JOB = JobName("counts")
FILES = 12
MINUTE_MS = 60_000
CODE = """
import sys
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
views = spark.readStream.schema("page INT, at TIMESTAMP").option("maxFilesPerTrigger", 1).json(sys.argv[1])
checked = views.withWatermark("at", "1 minute").observe(
    "checks",
    F.count("*").alias("rows"),
    F.count(F.when(F.col("page") < 0, 1)).alias("bad_rows"),
    F.sum(F.col("page").cast("decimal(38,2)")).alias("pages"),
    F.avg("page").alias("mean"),
    F.max(F.lit(True)).alias("whole"),
    F.max("at").alias("newest"),
)
counts = checked.groupBy(F.window("at", "1 minute"), "page").count()
writer = counts.writeStream.queryName("counts").outputMode("update").format("noop").trigger(availableNow=True)
writer.start().awaitTermination()
"""


def pages(file: int) -> list[int]:
    """Of a file, which is a batch; some have a negative one, which is bad."""
    return [-1] * (file % 3) + list(range(file + 4))


def lay(folder: Path) -> None:
    folder.mkdir()
    for file in range(FILES):
        path = folder / f"{file}.json"
        path.write_text("".join(json.dumps({"page": page, "at": f"2026-11-20T09:{file:02d}:00.000Z"}) + "\n" for page in pages(file)))
        os.utime(path, (1_000_000 + file, 1_000_000 + file))


def expected(file: int) -> dict[str, float]:
    bad, known = file % 3, pages(file)
    return {"rows": len(known), "bad_rows": bad, "pages": sum(known), "mean": sum(known) / len(known), "whole": 1.0}


def told(driver: Driver, of: RunId) -> Iterator[tuple[JobName, RunId, Progress, str]]:
    for line in (driver.folder / PROGRESS_FILE).read_bytes().splitlines():
        yield JOB, of, *json_lines.progress(line)


@pytest.mark.spark
def test_each_batch_counts_once_with_the_numbers_that_it_had(drivers: Drivers, tmp_path: Path) -> None:
    lay(tmp_path / "in")
    (tmp_path / "csv").mkdir()
    with bound() as statsd:
        presets = confs([f"statsd://127.0.0.1:{statsd.getsockname()[1]}", f"csv:{tmp_path / 'csv'}", "jmx"])
        often = {f"{SINKS}{kind}.period": "1" for kind in ("statsd", "csv")}
        conf = {**presets, **often, "spark.sql.streaming.noDataMicroBatches.enabled": "false"}
        first = drivers.start("r-1", CODE, str(tmp_path / "in"), job=JOB, conf=conf)
        first.until(lambda driver: bool(driver.progress))
        assert killing.kill_when(first, drivers.checkpoints(JOB) / "counts" / "offsets", str.isdigit, 60)
        lost = set(batches_of(drivers.checkpoints(JOB) / "counts", "commits")) - {line.batch for _, _, line, _ in told(first, RunId("r-1"))}
        second = drivers.start("r-2", CODE, str(tmp_path / "in"), job=JOB, conf=conf)
        assert second.wait() == 0, second.log
        assert lines(statsd, "counts.driver.spark.streaming.counts.states-rowsTotal:")
    assert list((tmp_path / "csv").glob("counts.driver.spark.streaming.counts.processingRate-total.csv"))

    catalog = open_catalog(tmp_path / "catalog.duckdb")
    with catalog.writing() as writer:
        jobs.save(writer, [job(JOB)])
        runs.save(writer, [run("r-1", JOB), run("r-2", JOB, created_ms=2000)])
        for _ in range(2):  # reading a file twice doubles nothing
            progress.append(writer, [*told(first, RunId("r-1")), *told(second, RunId("r-2"))])
    with catalog.reading() as reader:
        observed = {line.name: line for line in series.event_series(reader, JOB).observed}
        newest = batches.newest(reader, JOB)
        now = summaries.listed(reader, newest[0].at_ms)[0].observed
    catalog.close()
    begins = [line.t[0] for line in observed.values()]
    assert set(observed) == {f"checks.{name}" for name in expected(0)} and len(set(begins)) == 1
    assert 0 not in lost and FILES - len(lost) >= 3
    known = [file for file in range(FILES) if file not in lost]
    for name, line in observed.items():
        assert list(line.t) == [begins[0] + file * MINUTE_MS for file in known]
        assert line.value == tuple(pytest.approx(expected(file)[name.removeprefix("checks.")]) for file in known)
    for row in newest:
        values = {observation.name.removeprefix("checks."): observation for observation in row.observed}
        assert values.pop("newest").text == f"2026-11-20 09:{row.batch:02d}:00"
        assert {name: observation.value for name, observation in values.items()} == pytest.approx(expected(row.batch))
    assert ObservedNow("counts", "checks.rows", expected(FILES - 1)["rows"]) in now and len(now) == len(observed)
