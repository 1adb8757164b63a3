"""Every sink that PySpark can write to: a fork of a savepoint that was taken while the job ran goes on exactly.

A file sink's fork continues its parent's output, a table in memory begins anew and is whole in complete mode; where a sink
keeps nothing to compare, the state is compared.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from pipelines.savepoint.batch_choice import OfBatch
from tests.savepoint import queries
from tests.savepoint.matrix import FORMAT_2, HDFS, Bench, Line, await_commit, difference, write_inputs

pytestmark = pytest.mark.spark

TAKEN_OF, FILES = 1, 6
"""The savepoint is of this batch; the job runs meanwhile, and on a slow machine has run on to its end."""
LINES = {
    "parquet, format2": Line(queries.windowed, FORMAT_2, sink="parquet"),
    "json, stateless": Line(queries.stateless, sink="json"),
    "foreach": Line(queries.windowed, FORMAT_2, sink="foreach"),
    "memory, complete mode": Line(queries.total_by_key, HDFS, mode="complete", sink="memory"),
    "noop": Line(queries.windowed, FORMAT_2, sink="noop"),
    "console": Line(queries.windowed, HDFS, sink="console"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_fork_goes_on_exactly(spark: Any, tmp_path: Path, name: str) -> None:
    bench = Bench(LINES[name], tmp_path, spark)
    write_inputs(bench.line, tmp_path, files=FILES)
    original = bench.start("original")
    await_commit(bench, original, "original", TAKEN_OF)
    savepoint = bench.take("original", "sp-1", OfBatch(TAKEN_OF))
    bench.run("reference")
    bench.finish(original, "original")
    bench.fork(savepoint, "fork")
    bench.run("fork")
    newest = bench.committed("reference")
    assert TAKEN_OF == savepoint.batch < newest == bench.committed("fork")
    assert difference(bench.rows("original"), bench.rows("reference")) == {}
    assert difference(bench.rows("fork"), bench.rows("reference", savepoint.batch + 1)) == {}
    if bench.line.sink in ("noop", "console"):
        assert state(bench, "reference")
        assert state(bench, "fork") == state(bench, "original") == state(bench, "reference")
    else:
        assert bench.rows("fork")


def state(bench: Bench, job: str) -> Counter[str]:
    """Every row of the state after the last batch, with its partition."""
    return Counter(map(str, bench.session.read.format("statestore").load(str(bench.checkpoint(job))).collect()))


def test_a_table_in_memory_that_is_appended_to_cannot_go_on(spark: Any, tmp_path: Path) -> None:
    """Spark itself refuses, by name, before anything runs: the table's rows are gone with the driver that held them."""
    bench = Bench(Line(queries.stateless, sink="memory"), tmp_path, spark)
    write_inputs(bench.line, tmp_path, files=2)
    bench.run("original")
    bench.fork(bench.take("original", "sp-1"), "fork")
    with pytest.raises(AnalysisException, match="does not support recovering from checkpoint location"):
        bench.start("fork")
