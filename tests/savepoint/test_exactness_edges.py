"""Checkpoints that are not like the others: just begun, several in one job, rescaled, with gaps in their logs, on a clock."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.savepoints import NOT_BEGUN
from pipelines.savepoint import restore, take
from pipelines.savepoint.batch_choice import Newest, OfBatch
from tests.driver.process import batches
from tests.savepoint import matrix, queries
from tests.savepoint.matrix import CODE, FORMAT_2, Bench, Line, difference, held, until, write_inputs
from tests.savepoint.matrix_steps import beginning

pytestmark = pytest.mark.spark


def test_a_checkpoint_just_begun(spark: Any, tmp_path: Path) -> None:
    """Before its first commit there is nothing to save, and the error says so; after it the fork is exact."""
    bench = Bench(Line(queries.windowed, FORMAT_2), tmp_path, spark)
    write_inputs(bench.line, tmp_path, files=4)
    first = bench.gates["original"] = held(0)
    original = bench.start("original")
    until(lambda: first.reached.is_set() or not original.isActive)
    with pytest.raises(Conflict) as refused:
        bench.take("original", "sp-too-early")
    assert (refused.value.code, next(iter(bench.library.list("")), None)) == ("savepoint.no_batch", None)
    first.released.set()
    bench.finish(original, "original")
    second = bench.gates["later"] = held(1)
    later = bench.start("later")
    until(lambda: second.reached.is_set() or not later.isActive)
    savepoint = bench.take("later", "sp-0")
    second.released.set()
    bench.finish(later, "later")
    bench.fork(savepoint, "fork")
    bench.run("fork")
    assert savepoint.batch == 0
    assert difference(bench.rows("fork"), bench.rows("original", 1)) == {}
    assert difference(bench.rows("later"), bench.rows("original")) == {}


def test_two_queries_of_one_job(spark: Any, tmp_path: Path) -> None:
    """One savepoint holds both, each at its own batch; both forks are exact."""
    bench = Bench(Line(queries.windowed, FORMAT_2), tmp_path, spark)
    write_inputs(bench.line, tmp_path, files=5)
    bench.run("reference")
    gates = {job: bench.gates.setdefault(job, held(batch)) for job, batch in {"one": 2, "two": 4}.items()}
    running = {job: bench.start(job) for job in gates}
    until(lambda: all(gate.reached.is_set() for gate in gates.values()) or not all(query.isActive for query in running.values()))
    savepoint = take.take(bench.source("one", "two"), Newest(), bench.library, take.Naming(SavepointId("sp-1"), 1))
    for job, query in running.items():
        gates[job].released.set()
        bench.finish(query, job)
    assert {image.query: image.batch for image in savepoint.queries} == {matrix.QUERY: 1, "two": 3}
    assert len({image.query_id for image in savepoint.queries}) == 2
    target = restore.Fork(JobName("fork"), str(tmp_path / "forks"), CODE, str(tmp_path / "output"), lambda: str(uuid.uuid4()))
    restore.restore(bench.library, savepoint.id, target, 1)
    for query, job, first in ((matrix.QUERY, "fork-one", 2), ("two", "fork-two", 4)):
        bench.checkpoint(job).parent.mkdir(parents=True)
        (tmp_path / "forks" / query).rename(bench.checkpoint(job))
        bench.run(job)
        assert difference(bench.rows(job), bench.rows("reference", first)) == {}
    for job in running:
        assert difference(bench.rows(job), bench.rows("reference")) == {}


def test_a_query_that_has_not_begun_does_not_hold_the_others_up(spark: Any, tmp_path: Path) -> None:
    """Saved in its first batch, with files that its source has noted for it: both forks are exact, the second from its first batch on."""
    bench = Bench(Line(queries.windowed, FORMAT_2), tmp_path, spark)
    write_inputs(bench.line, tmp_path, files=4)
    bench.run("reference")
    gates = {job: bench.gates.setdefault(job, held(batch)) for job, batch in {"one": 2, "two": 0}.items()}
    running = {job: bench.start(job) for job in gates}
    until(lambda: all(gate.reached.is_set() for gate in gates.values()) or not all(query.isActive for query in running.values()))
    savepoint = take.take(bench.source("two", "one"), Newest(), bench.library, take.Naming(SavepointId("sp-1"), 1))
    for job, query in running.items():
        gates[job].released.set()
        bench.finish(query, job)
    assert [(image.query, image.batch, image.begun) for image in savepoint.queries] == [("one", 1, True), (matrix.QUERY, NOT_BEGUN, False)]
    assert batches(bench.checkpoint("two"), "commits"), "the job itself went on"
    target = restore.Fork(JobName("fork"), str(tmp_path / "forks"), CODE, str(tmp_path / "output"), lambda: str(uuid.uuid4()))
    restore.restore(bench.library, savepoint.id, target, 1)
    assert not list((tmp_path / "forks" / matrix.QUERY).rglob("[0-9]*")), "neither a planned batch nor a noted file"
    for query, job, first in (("one", "fork-one", 2), (matrix.QUERY, "fork-two", 0)):
        bench.checkpoint(job).parent.mkdir(parents=True)
        (tmp_path / "forks" / query).rename(bench.checkpoint(job))
        bench.run(job)
        assert difference(bench.rows(job), bench.rows("reference", first)) == {}


@pytest.mark.parametrize("store", ["changelog", "format2"])
def test_a_rescaled_checkpoint(spark: Any, tmp_path: Path, store: str) -> None:
    """Spark's repartition writes batch N+1 with more partitions: savepoints of N, of N+1 and of what follows are exact."""
    bench = Bench(Line(queries.windowed, matrix.STORES[store]), tmp_path, spark)
    write_inputs(bench.line, tmp_path, files=3)
    bench.run("original", "reference")
    before = bench.committed("original")
    rescale(bench, "original", 3)
    assert bench.committed("original") == before + 1
    taken = [bench.take("original", "sp-rescaled"), bench.take("original", "sp-before", OfBatch(before))]
    assert [[operator.partitions for operator in savepoint.queries[0].operators] for savepoint in taken] == [[3], [2]]
    write_inputs(bench.line, tmp_path, 3, 3)
    bench.run("original", "reference")
    taken += [bench.take("original", "sp-after", OfBatch(before + 2)), bench.take("original", "sp-before-later", OfBatch(before))]
    for savepoint in taken:
        bench.fork(savepoint, savepoint.id)
    is_same = beginning(bench, "sp-before-later") == beginning(bench, "sp-before")  # else Spark's maintenance wrote a snapshot meanwhile
    for savepoint in taken[:3] if is_same else taken:
        bench.run(savepoint.id)
        assert unnumbered(bench.rows(savepoint.id)) == unnumbered(bench.rows("original", savepoint.batch + 1)), savepoint.id
        assert bench.rows(savepoint.id), savepoint.id
    assert unnumbered(bench.rows("original")) == unnumbered(bench.rows("reference"))


def rescale(bench: Bench, job: str, partitions: int) -> None:
    from pyspark.sql.streaming.query import StreamingCheckpointManager

    StreamingCheckpointManager(bench.session._jsparkSession.streamingCheckpointManager()).repartition(
        str(bench.checkpoint(job)), partitions
    )


def unnumbered(rows: matrix.Rows) -> list[str]:
    """The rows without their batches, whose numbers a rescaling moves."""
    return sorted(row for (_, row), times in rows.items() for _ in range(times))


ASYNC = {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "400"}
ANY_SINK = {"_asyncProgressTrackingOverrideSinkSupportCheck": "true"}


def test_async_progress_tracking_leaves_gaps(spark: Any, tmp_path: Path) -> None:
    """A fork begins after the newest batch that the log holds; what comes then is exact."""
    bench = Bench(Line(queries.steady_rows, sink="foreachBatch", options=ASYNC | ANY_SINK, last=12), tmp_path, spark)
    original = bench.start("original")
    until(lambda: has_gap(bench.checkpoint("original")) or not original.isActive)
    savepoint = bench.take("original", "sp-1")
    bench.finish(original, "original")
    bench.fork(savepoint, "fork")
    end = max(bench.line.last or 0, savepoint.batch + 3)
    bench.line = Line(queries.steady_rows, options=ASYNC | ANY_SINK, last=end)
    bench.run("fork", "reference")
    assert bench.rows("fork", 0, savepoint.batch) == {}
    assert difference(bench.rows("fork", last=end), bench.rows("reference", savepoint.batch + 1, end)) == {}
    common = min(end, bench.committed("original"))
    assert difference(bench.rows("original", last=common), bench.rows("reference", last=common)) == {}


def has_gap(checkpoint: Path) -> bool:
    commits = batches(checkpoint, "commits") if (checkpoint / "commits").is_dir() else []
    return len(commits) > 2 and commits[-1] - commits[-2] > 1


@pytest.mark.parametrize("sink", ["noop", "console"])
def test_async_progress_tracking_with_the_sinks_that_spark_allows(spark: Any, tmp_path: Path, sink: str) -> None:
    bench = Bench(Line(queries.steady_rows, sink=sink, options=ASYNC, last=6), tmp_path, spark)
    bench.run("original")
    savepoint = bench.take("original", "sp-1")
    bench.fork(savepoint, "fork")
    bench.line = Line(queries.steady_rows, sink=sink, options=ASYNC, last=savepoint.batch + 3)
    bench.run("fork")
    assert bench.committed("fork") >= savepoint.batch + 3


def test_real_time_mode(spark: Any, tmp_path: Path) -> None:
    """Its batches are long and commit at their end; a savepoint in the middle of one is of the batch before, and the fork is exact.

    Of Spark's own sources only this one, in the JVM's memory, can be read in real time; the format of the checkpoint must be 2.
    """
    session = matrix.configured(spark, FORMAT_2 | ONE_TASK | {"spark.sql.streaming.realTimeMode.minBatchDuration": "1000"})
    stream, add = real_time_source(session)
    distinct = DataFrame(stream.toDF(), session).dropDuplicates(["value"])
    options = {"asyncProgressTrackingCheckpointIntervalMs": "0"}
    line = Line(lambda *_: distinct, mode="update", sink="foreach", last=2, options=options, trigger={"realTime": "1 second"})
    bench = Bench(line, tmp_path, spark)
    original = bench.start("original")
    for batch in range(2):
        add(range(batch * 10, batch * 10 + 15))
        matrix.await_commit(bench, original, "original", batch)
    savepoint = bench.take("original", "sp-1")
    add(range(20, 40))
    bench.finish(original, "original")
    bench.fork(savepoint, "fork")
    bench.line = replace(line, last=savepoint.batch + 2)
    fork = bench.start("fork")
    add(range(30, 50))
    bench.finish(fork, "fork")
    before, after = bench.rows("original", last=savepoint.batch), bench.rows("fork", last=savepoint.batch + 2)
    assert before and after
    assert unnumbered(before + after) == sorted(json.dumps({"value": f"row {n}"}) for n in range(50))


ONE_TASK = {"spark.sql.shuffle.partitions": "1"}
"""In real time all stages run at once, and each needs its cores."""


def real_time_source(session: Any) -> tuple[Any, Callable[[Iterable[int]], None]]:
    """A stream in the JVM's memory (LowLatencyMemoryStream), and what adds rows to it."""
    jvm = session._jvm
    package = jvm.org.apache.spark.sql.execution.streaming.sources
    stream = package.LowLatencyMemoryStream.apply(session._jsparkSession, 1, jvm.org.apache.spark.sql.Encoders.STRING())
    return stream, lambda numbers: stream.addData(0, jvm.PythonUtils.toSeq([f"row {n}" for n in numbers]))


def test_a_source_on_the_clock(spark: Any, tmp_path: Path) -> None:
    """The rate source counts from a first moment that its checkpoint keeps: a fork goes on with the very next number."""
    bench = Bench(Line(queries.rate, last=4), tmp_path, spark)
    bench.run("original")
    savepoint = bench.take("original", "sp-1", OfBatch(2))
    bench.run("original")
    bench.fork(savepoint, "fork")
    bench.line = Line(queries.rate, last=6)
    bench.run("fork")

    def values(job: str, first: int, last: int) -> dict[int, str]:
        rows = [json.loads(row) for _, row in bench.rows(job, first, last)]
        timestamps = {row["value"]: row["timestamp"] for row in rows}
        assert len(timestamps) == len(rows), "nothing twice"
        return timestamps

    original, fork = values("original", 0, 99), values("fork", 0, 99)
    begin = max(values("original", 0, 2)) + 1
    assert sorted(fork) == list(range(begin, max(fork) + 1))
    assert sorted(original) == list(range(max(original) + 1))
    common = fork.keys() & original.keys()
    assert common
    assert {n: fork[n] for n in common} == {n: original[n] for n in common}
