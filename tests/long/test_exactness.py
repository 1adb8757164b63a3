"""Lines of `tests/savepoint/test_exactness_*.py` that go the way of another one which runs every time, on another store or with another
operator: each as the file of its kind says."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.savepoint import queries, queries_python, queries_types
from tests.savepoint import test_exactness_deduplication as deduplication
from tests.savepoint import test_exactness_functions as functions
from tests.savepoint import test_exactness_migrated as migrated
from tests.savepoint import test_exactness_placed as placed
from tests.savepoint import test_exactness_rescaled as rescaled
from tests.savepoint import test_exactness_steps as steps
from tests.savepoint import test_exactness_variables as variables
from tests.savepoint.matrix import CHANGELOG, FORMAT_2, HDFS, JOIN_FORMAT, ROCKSDB, Line
from tests.savepoint.matrix_run import EXPIRING, assert_exact
from tests.savepoint.queries_variables import Columns

pytestmark = [pytest.mark.long, pytest.mark.spark]

TWO = ("events", "clicks")
MATRIX = {
    "left join, hdfs": Line(queries.left_join, HDFS, inputs=TWO),
    "left join of column families": Line(queries.left_join, FORMAT_2 | {JOIN_FORMAT: "3"}, inputs=TWO),
    "distinct, hdfs": Line(queries.distinct, HDFS),
    "distinct, format2": Line(queries.distinct, FORMAT_2),
    "sessions, hdfs": Line(queries.sessions, HDFS),
    "total, complete mode, hdfs": Line(queries.total, HDFS, mode="complete"),
    "limit, format2": Line(queries.limited, FORMAT_2),
    "window of windows, format2": Line(queries.chained, FORMAT_2),
    "join then window, format2": Line(queries.joined_then_windowed, FORMAT_2, inputs=TWO),
    "expired entries, hdfs": Line(queries.windowed, HDFS | EXPIRING),
    "state in pandas, format2": Line(queries_python.state_in_pandas, FORMAT_2),
    "state variables, rocksdb": Line(queries_python.state_variables, ROCKSDB),
    "every type, format2": Line(queries_types.of_types("count(*) AS rows"), FORMAT_2 | queries_types.CONF),
}


@pytest.mark.parametrize("name", MATRIX)
def test_forks_and_the_original_equal_the_uninterrupted_run(spark: Any, tmp_path: Path, name: str) -> None:
    assert_exact(spark, tmp_path, MATRIX[name], {})


STEPS = {
    "format2, files": steps.FIRST_LINES["format2, files"],
    "hdfs, foreachBatch": Line(queries.windowed, HDFS | steps.COMPACTED),
    "rocksdb, files": Line(queries.windowed, ROCKSDB | steps.COMPACTED, sink="parquet"),
    "changelog, foreachBatch": Line(queries.windowed, CHANGELOG | steps.COMPACTED),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_batch_killed_at_any_step_is_done_as_if_nothing_had_happened(spark: Any, tmp_path: Path, name: str) -> None:
    steps.killed_at_any_step(spark, tmp_path, STEPS[name])


TYPED = tuple(
    queries_types.of_types(*measures)
    for measures in (
        ("max(n) AS greatest", "min(key) AS least", "count(*) AS rows"),
        ("count(*) AS rows", "max(CAST(n AS BIGINT)) AS greatest"),
        ("sum(n) AS total", "max(CAST(n AS BIGINT)) AS greatest", "count(*) AS rows"),
        ("sum(IF(later, n, NULL)) AS total", "max(CAST(n AS BIGINT)) AS greatest", "count(*) AS rows"),
    )
)
MIGRATED: dict[str, migrated.Case] = {
    "join by time, changelog": (
        CHANGELOG | {JOIN_FORMAT: "4"},
        migrated.joined(("n", "n % 3 AS third"), ("n AS click",)),
        migrated.joined(("n % 7 AS seventh", "CAST(n AS BIGINT) AS n"), ("n AS click",)),
        migrated.joined((f"IF({migrated.LATER}, n % 7, NULL) AS seventh", "CAST(n AS BIGINT) AS n"), ("n AS click",)),
    ),
    "added, hdfs": (
        HDFS,
        migrated.windowed("sum"),
        migrated.windowed("sum", "mean", "first"),
        migrated.windowed("sum", "mean_later", "first_later"),
    ),
    "state in pandas, format2": (
        FORMAT_2,
        migrated.in_pandas("sum LONG, rows LONG"),
        migrated.in_pandas("rows LONG, later LONG, sum LONG"),
        None,
    ),
    "sessions, format2": (
        FORMAT_2,
        migrated.windowed("sum", "mean", "greatest", by=migrated.SESSION),
        migrated.windowed("wide", "sum", by=migrated.SESSION),
        None,
    ),
    "join, format2": (
        FORMAT_2,
        migrated.joined(("n",), ("key AS again", "n AS click"), "inner"),
        migrated.joined(("CAST(n AS BIGINT) AS n",), ("n AS click",), "inner"),
        None,
    ),
    "join of column families, format2": (
        FORMAT_2 | {JOIN_FORMAT: "3"},
        migrated.joined(("n", "n % 3 AS third"), ("key AS again", "n AS click")),
        migrated.joined(("CAST(n AS BIGINT) AS n",), ("n AS click",)),
        None,
    ),
    "beside every type, hdfs": (HDFS | queries_types.CONF, TYPED[0], TYPED[1], None),
    "beside every type, format2": (FORMAT_2 | queries_types.CONF, TYPED[1], TYPED[2], TYPED[3]),
}


@pytest.mark.parametrize("name", MIGRATED)
def test_migrated_by_columns(spark: Any, tmp_path: Path, name: str) -> None:
    migrated.goes_on_exactly(spark, tmp_path / "a b", name, MIGRATED[name])


PLACED = {
    "a join begins anew, changelog": placed.Case(
        CHANGELOG,
        placed.joined(),
        placed.joined(columns=("key", "ts", "n")),
        ("query.0",),
        reference=placed.joined(columns=("key", "ts", "n"), later=True),
        inputs=("events", "clicks"),
    ),
    "a join by time moves up, changelog": placed.Case(
        CHANGELOG | {JOIN_FORMAT: "4"}, placed.joined(), placed.limited(placed.joined()), inputs=("events", "clicks")
    ),
    "a join of column families begins anew, changelog": placed.Case(
        CHANGELOG | {JOIN_FORMAT: "3"},
        placed.joined(),
        placed.joined(columns=("key", "ts", "n")),
        ("query.0",),
        reference=placed.joined(columns=("key", "ts", "n"), later=True),
        inputs=("events", "clicks"),
    ),
    "dropped above a deduplication, rocksdb": placed.Case(ROCKSDB, queries.distinct_then_windowed, queries.distinct, ("query.0",)),
    "added below, hdfs": placed.Case(HDFS, placed.counted(), placed.counted(once="within")),
    "added above, format2": placed.Case(FORMAT_2, placed.counted(), placed.counted(above="limit")),
    "state in pandas moves up, hdfs": placed.Case(HDFS, queries_python.state_in_pandas, placed.limited(queries_python.state_in_pandas)),
    "state in pandas begins anew, hdfs": placed.Case(
        HDFS,
        queries_python.state_in_pandas,
        queries_python.state_in_pandas,
        ("query.0",),
        reference=partial(queries_python.state_in_pandas, rows=placed.THEN),
    ),
    "state variables in pandas move down, rocksdb": placed.Case(
        ROCKSDB, placed.limited(queries_python.state_variables_in_pandas), queries_python.state_variables_in_pandas, ("query.0",)
    ),
}


@pytest.mark.parametrize("name", PLACED)
def test_operators_come_go_and_move(spark: Any, tmp_path: Path, name: str) -> None:
    placed.goes_on_exactly(spark, tmp_path / "a b", PLACED[name])


def test_an_aggregation_into_files_is_rescaled(spark: Any, tmp_path: Path) -> None:
    rescaled.keeps_its_rows(spark, tmp_path / "a b", Line(queries.windowed, FORMAT_2 | rescaled.PARTITIONS, sink="parquet"))


def test_state_variables_and_timers_are_rescaled_in_changelogs(spark: Any, tmp_path: Path) -> None:
    rescaled.keeps_its_rows(spark, tmp_path / "a b", Line(queries_python.state_variables, CHANGELOG | rescaled.PARTITIONS))


def test_state_of_every_type_is_rescaled(spark: Any, tmp_path: Path) -> None:
    line = Line(queries_types.of_types("count(*) AS rows"), FORMAT_2 | rescaled.PARTITIONS | queries_types.CONF)
    rescaled.keeps_its_rows(spark, tmp_path / "a b", line)


def test_a_variable_more_and_one_less_is_sparks_own_affair(spark: Any, tmp_path: Path) -> None:
    columns = Columns(more="all"), Columns(more="numbers"), Columns(more="numbers", only_later="more")
    variables.goes_on_exactly(spark, tmp_path / "a b", variables.Case(FORMAT_2, *columns, drop=("query.0.all",), by_spark=True))


DEDUPLICATED: dict[str, deduplication.Case] = {
    "wider, in another place, format2": (
        FORMAT_2,
        deduplication.distinct("key", "ts", "n"),
        deduplication.distinct("n", "key", "ts", wide=True),
        "widened kept kept",
    ),
    "wider, within the watermark, hdfs": (
        HDFS,
        deduplication.for_a_while("key", "n"),
        deduplication.for_a_while("key", "n", wide=True),
        "kept widened",
    ),
}


@pytest.mark.parametrize("name", DEDUPLICATED)
def test_deduplications_of_another_key(spark: Any, tmp_path: Path, name: str) -> None:
    deduplication.goes_on_exactly(spark, tmp_path, name, DEDUPLICATED[name])


def test_a_function_makes_the_rows_of_a_join_of_column_families(spark: Any, tmp_path: Path) -> None:
    functions.goes_on_exactly(spark, tmp_path, "3", queries.timed)
