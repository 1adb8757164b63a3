"""Every state store and operator, source and sink: a fork equals, row for row and batch for batch, what was never interrupted.

Each line runs its query undisturbed (the reference) and again as the original, which is held in the middle of a batch: planned, its
state written, not committed. There savepoints are taken, of the newest batch and of one in the past; the original is stopped, started
again and goes on to the end, and so do the forks. `tests/long/test_exactness.py` has each operator on more stores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.savepoint import queries
from tests.savepoint.matrix import CHANGELOG, FORMAT_2, HDFS, ROCKSDB, STORES, Line
from tests.savepoint.matrix_run import EXPIRING, References, assert_exact

pytestmark = pytest.mark.spark

TWO = ("events", "clicks")
EVOLVING = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
LINES = {
    **{f"window, {store}": Line(queries.windowed, conf) for store, conf in STORES.items()},
    "inner join, changelog": Line(queries.inner_join, CHANGELOG, inputs=TWO),
    "left join, format2": Line(queries.left_join, FORMAT_2, inputs=TWO),
    "distinct for a while of Parquet, rocksdb": Line(queries.distinct_for_a_while, ROCKSDB | queries.PARQUET),
    "sessions, format2": Line(queries.sessions, FORMAT_2),
    "total by key, complete mode, format2": Line(queries.total_by_key, FORMAT_2, mode="complete"),
    "limit of CSV, hdfs": Line(queries.limited, HDFS | queries.CSV),
    "stateless of lines of text": Line(queries.stateless, queries.TEXT),
    "distinct then window, format2": Line(queries.distinct_then_windowed, FORMAT_2),
    "expired entries, format2": Line(queries.windowed, FORMAT_2 | EXPIRING),
    "two sources, hdfs": Line(queries.united, HDFS, inputs=TWO),
    "named sources, format2": Line(queries.named, FORMAT_2 | EVOLVING, inputs=TWO),
    "rate per batch": Line(queries.steady_rate, HDFS, inputs=(), last=5),
}


@pytest.fixture(scope="module")
def references() -> References:
    return {}


@pytest.mark.parametrize("name", LINES)
def test_forks_and_the_original_equal_the_uninterrupted_run(spark: Any, tmp_path: Path, references: References, name: str) -> None:
    assert_exact(spark, tmp_path, LINES[name], references)
