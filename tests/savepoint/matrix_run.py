"""A line of the matrix, saved in the middle of a batch: its forks and the original give what an undisturbed run gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.savepoint.batch_choice import OfBatch
from tests.savepoint.matrix import Bench, Line, Rows, difference, held, since, until, write_inputs

FILES = 6
"""One a batch; the source's log is compacted in batches 2 and 5."""
HELD = 4
"""The batch in whose middle the original is held: between the two."""
PAST = 1
EXPIRING = {
    "spark.sql.streaming.minBatchesToRetain": "3",
    "spark.sql.streaming.fileSource.log.compactInterval": "2",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
}
"""The source's log loses its first entries before the savepoint of the past is taken."""


@dataclass(frozen=True)
class Reference:
    """What the undisturbed run of a query gives, whatever the store, and its newest batch."""

    rows: Rows
    newest: int


References = dict[object, Reference]


def assert_exact(spark: Any, folder: Path, line: Line, references: References) -> None:
    """Both savepoints, of the newest batch and of one in the past, are taken while the held batch is planned and not committed."""
    bench = Bench(line, folder, spark)
    write_inputs(line, folder, files=FILES)
    gate = bench.gates["original"] = held(HELD)
    original = bench.start("original")
    reference = _reference(references, bench)
    until(lambda: gate.reached.is_set() or not original.isActive)
    newest, past = bench.take("original", "sp-newest"), bench.take("original", "sp-past", OfBatch(past_batch(bench.line)))
    gate.released.set()
    original.stop()
    for savepoint in (newest, past):
        bench.fork(savepoint, savepoint.id)
    bench.run("original", newest.id, past.id)
    assert (newest.batch, past.batch) == (HELD - 1, past_batch(bench.line))
    assert difference(bench.rows("original", last=reference.newest), reference.rows) == {}
    for savepoint in (newest, past):
        expected = since(reference.rows, savepoint.batch + 1)
        assert expected, "what is compared is not empty"
        assert difference(bench.rows(savepoint.id, last=reference.newest), expected) == {}, savepoint.id


def past_batch(line: Line) -> int:
    """Spark must have kept the batch before it, too."""
    return PAST + 1 if EXPIRING.items() <= line.conf.items() else PAST


def _reference(references: References, bench: Bench) -> Reference:
    key = bench.line.query, bench.line.mode
    if key not in references:
        references[key] = undisturbed(bench)
    return references[key]


def undisturbed(bench: Bench) -> Reference:
    bench.run("reference")
    newest = bench.committed("reference") if bench.line.last is None else bench.line.last
    return Reference(bench.rows("reference", last=newest), newest)
