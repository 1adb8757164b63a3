"""A batch killed at any of its steps: the job started again, and a fork of a savepoint taken of what is left, lose and double nothing.

The states are made of a finished job, so every step is met, on stores of each kind, with a sink that remembers batches and one
that does not (`tests/long/test_exactness.py` has the rest). `tests/driver/test_kills.py` kills real drivers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from pipelines.domain.errors import Conflict
from pipelines.driver import commits, failures
from pipelines.driver.records import Records
from tests.savepoint import queries
from tests.savepoint.matrix import CHANGELOG, FORMAT_2, HDFS, Bench, Line, difference, since, write_inputs
from tests.savepoint.matrix_steps import STEPS, beginning, leave

pytestmark = pytest.mark.spark

KILLED = 5
"""A batch with data, before another one, at which both logs are compacted."""
COMPACTED = {"spark.sql.streaming.fileSource.log.compactInterval": "3", "spark.sql.streaming.fileSink.log.compactInterval": "3"}
LINES = {
    "hdfs, files": Line(queries.windowed, HDFS | COMPACTED, sink="parquet"),
    "changelog, files": Line(queries.windowed, CHANGELOG | COMPACTED, sink="parquet"),
    "format2, foreachBatch": Line(queries.windowed, FORMAT_2 | COMPACTED),
}
FIRST_LINES = {"hdfs, files": LINES["hdfs, files"], "format2, files": Line(queries.windowed, FORMAT_2 | COMPACTED, sink="parquet")}


@pytest.mark.parametrize("name", LINES)
def test_a_batch_killed_at_any_step_is_done_as_if_nothing_had_happened(spark: Any, tmp_path: Path, name: str) -> None:
    killed_at_any_step(spark, tmp_path, LINES[name])


def killed_at_any_step(spark: Any, folder: Path, line: Line) -> None:
    bench = Bench(line, folder, spark)
    write_inputs(bench.line, folder)
    bench.run("job")
    expected, newest = bench.rows("job"), bench.committed("job")
    assert expected
    proved: set[str] = set()
    for step in STEPS:
        leave(bench, "job", KILLED, step)
        savepoint = bench.take("job", f"sp-{STEPS.index(step)}")
        assert savepoint.batch == (KILLED if step == "committed" else KILLED - 1)
        fork = f"fork-{STEPS.index(step)}"
        bench.fork(savepoint, fork)
        begun = beginning(bench, fork)
        bench.prepare("job")
        forks = [fork] if begun not in proved else []
        bench.run("job", *forks)
        assert (step, bench.committed("job")) == (step, newest)
        assert difference(bench.rows("job"), expected) == {}, step
        for job in forks:
            assert difference(bench.rows(job), since(expected, savepoint.batch + 1)) == {}, step
        proved.add(begun)


@pytest.mark.parametrize("name", FIRST_LINES)
def test_a_first_batch_killed_at_any_step_is_done_as_if_nothing_had_happened(spark: Any, tmp_path: Path, name: str) -> None:
    bench = Bench(FIRST_LINES[name], tmp_path, spark)
    write_inputs(bench.line, tmp_path, files=4)
    bench.run("job")
    expected, newest = bench.rows("job"), bench.committed("job")
    assert expected
    for step in STEPS[1:]:
        leave(bench, "job", 0, step)
        with pytest.raises(Conflict, match="has not committed a batch yet"):
            bench.take("job", "sp-too-early")
        bench.prepare("job")
        bench.run("job")
        assert (step, bench.committed("job")) == (step, newest)
        assert difference(bench.rows("job"), expected) == {}, step


@pytest.mark.parametrize(("conf", "refusal"), [(HDFS, commits.NOT_VALID), (FORMAT_2, failures.BATCH_SKIPPED.error_class)])
def test_a_writer_that_remembers_batches_must_compute_those_it_skips(
    spark: Any, tmp_path: Path, conf: dict[str, str], refusal: str
) -> None:
    """Killed between its own commit and Spark's: without their state Spark cannot go on. It says so, and computing them is enough.

    On format 1 Spark says so after it has committed the batch, without its watermark: the driver takes that commit back.
    """
    bench = Bench(Line(queries.windowed, conf | COMPACTED, sink="skipping"), tmp_path, spark)
    write_inputs(bench.line, tmp_path)
    bench.run("job")
    expected = bench.rows("job")
    leave(bench, "job", KILLED, "sink committed")
    bench.prepare("job")
    query = bench.start("job")
    with pytest.raises(StreamingQueryException):
        bench.finish(query, "job")
    failure = failures.of_query(query)
    assert failure is not None and failure.error_class == refusal
    commits.take_back(Records(tmp_path, lambda: 1), "query", bench.checkpoint("job"), failure)
    assert bench.committed("job") == KILLED - 1
    bench.line = replace(bench.line, sink="remembering")
    bench.run("job")
    assert difference(bench.rows("job"), expected) == {}
