"""Every state store and operator, source and sink: a fork equals, row for row and batch for batch, what was never interrupted.

Each line runs its query undisturbed (the reference) and again as the original, which is held in the middle of a batch: planned, its
state written, not committed. There savepoints are taken, of the newest batch and of one in the past; the original is stopped, started
again and goes on to the end, and so do the forks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.savepoint.batch_choice import OfBatch
from tests.savepoint import queries, queries_python
from tests.savepoint.matrix import (
    CHANGELOG,
    FORMAT_2,
    HDFS,
    ROCKSDB,
    STORES,
    Bench,
    Line,
    Rows,
    difference,
    held,
    since,
    until,
    write_inputs,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

HELD = 5
"""The batch in whose middle the original is held: after the source's log was compacted."""
PAST = 2
TWO = ("events", "clicks")
AVRO = {"spark.sql.streaming.stateStore.encodingFormat": "avro"}
EVOLVING = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}

EXPIRING = {
    "spark.sql.streaming.minBatchesToRetain": "4",
    "spark.sql.streaming.fileSource.log.compactInterval": "2",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
}
"""The source's log loses its first entries before the savepoint of the past is taken."""

LINES = {
    **{f"window, {store}": Line(queries.windowed, conf) for store, conf in STORES.items()},
    "inner join, changelog": Line(queries.inner_join, CHANGELOG, inputs=TWO),
    "left join, hdfs": Line(queries.left_join, HDFS, inputs=TWO),
    "left join, format2": Line(queries.left_join, FORMAT_2, inputs=TWO),
    "left join of column families": Line(queries.left_join, FORMAT_2 | {"spark.sql.streaming.join.stateFormatVersion": "3"}, inputs=TWO),
    "distinct, hdfs": Line(queries.distinct, HDFS),
    "distinct, format2": Line(queries.distinct, FORMAT_2),
    "distinct for a while, rocksdb": Line(queries.distinct_for_a_while, ROCKSDB),
    "sessions, hdfs": Line(queries.sessions, HDFS),
    "sessions, format2": Line(queries.sessions, FORMAT_2),
    "state in pandas, hdfs": Line(queries_python.state_in_pandas, HDFS),
    "state in pandas, format2": Line(queries_python.state_in_pandas, FORMAT_2),
    "state variables, rocksdb": Line(queries_python.state_variables, ROCKSDB),
    "state variables, format2, avro": Line(queries_python.state_variables, FORMAT_2 | AVRO),
    "state variables in pandas, changelog": Line(queries_python.state_variables_in_pandas, CHANGELOG),
    "state variables with TTL, format2": Line(queries_python.state_variables_for_a_day, FORMAT_2, last=7),
    "total, complete mode, hdfs": Line(queries.total, HDFS, mode="complete"),
    "total by key, complete mode, format2": Line(queries.total_by_key, FORMAT_2, mode="complete"),
    "limit, hdfs": Line(queries.limited, HDFS),
    "limit, format2": Line(queries.limited, FORMAT_2),
    "stateless": Line(queries.stateless),
    "distinct then window, format2": Line(queries.distinct_then_windowed, FORMAT_2),
    "window of windows, format2": Line(queries.chained, FORMAT_2),
    "join then window, format2": Line(queries.joined_then_windowed, FORMAT_2, inputs=TWO),
    "expired entries, hdfs": Line(queries.windowed, HDFS | EXPIRING),
    "expired entries, format2": Line(queries.windowed, FORMAT_2 | EXPIRING),
    "two sources, hdfs": Line(queries.united, HDFS, inputs=TWO),
    "named sources, format2": Line(queries.named, FORMAT_2 | EVOLVING, inputs=TWO),
    "rate per batch": Line(queries.steady_rate, HDFS, inputs=(), last=7),
    "Python data source": Line(queries_python.data_source, FORMAT_2, inputs=(), last=7),
    "simple Python data source": Line(queries_python.simple_data_source, HDFS, inputs=(), last=7),
}


@dataclass(frozen=True)
class Reference:
    """What the undisturbed run of a query gives, whatever the store, and its newest batch."""

    rows: Rows
    newest: int


@pytest.fixture(scope="module")
def references() -> dict[object, Reference]:
    return {}


@pytest.mark.parametrize("name", LINES)
def test_forks_and_the_original_equal_the_uninterrupted_run(
    spark: Any, tmp_path: Path, references: dict[object, Reference], name: str
) -> None:
    bench = Bench(LINES[name], tmp_path, spark)
    write_inputs(bench.line, tmp_path)
    gate = bench.gates["original"] = held(HELD)
    original = bench.start("original")
    reference = _reference(references, bench)
    until(lambda: gate.reached.is_set() or not original.isActive)
    newest, past = bench.take("original", "newest"), bench.take("original", "past", OfBatch(PAST))
    gate.released.set()
    original.stop()
    for savepoint in (newest, past):
        bench.fork(savepoint, savepoint.id)
    bench.run("original", "newest", "past")
    assert (newest.batch, past.batch) == (HELD - 1, PAST)
    assert difference(bench.rows("original", last=reference.newest), reference.rows) == {}
    for savepoint in (newest, past):
        expected = since(reference.rows, savepoint.batch + 1)
        assert expected, "what is compared is not empty"
        assert difference(bench.rows(savepoint.id, last=reference.newest), expected) == {}, savepoint.id


def _reference(references: dict[object, Reference], bench: Bench) -> Reference:
    key = bench.line.query, bench.line.mode
    if key not in references:
        references[key] = undisturbed(bench)
    return references[key]


def undisturbed(bench: Bench) -> Reference:
    bench.run("reference")
    newest = bench.committed("reference") if bench.line.last is None else bench.line.last
    return Reference(bench.rows("reference", last=newest), newest)
