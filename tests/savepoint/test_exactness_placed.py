"""Operators that come, go and move under changed code: what a fork puts out is what the changed code puts out that ran from the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Unsupported
from tests.savepoint import queries, queries_python
from tests.savepoint.matrix import CHANGELOG, FORMAT_2, HDFS, JOIN_FORMAT, ROCKSDB, Bench, Line
from tests.savepoint.migrated import migrate, planned
from tests.savepoint.test_exactness_migrated import FILES, assert_equal, contents, saved

pytestmark = pytest.mark.spark

Query = Callable[[Any, Path], Any]
LATER = f"_metadata.file_name >= '{FILES[0]:03d}.json'"
THEN = f"{LATER} or ts is null"
"""The same above the watermark, which is of `ts`: what moves it stays."""
NEVER_TWICE_BEFORE = f"n <> 5 or {LATER}"
"""Rows that come twice do so after the savepoint alone: what was told apart before it is then what all rows are."""


def counted(*, once: str = "", above: str = "", more: bool = False) -> Query:
    """Sums by window and key: of rows that are told apart first (`once`), and that are told apart or limited afterwards (`above`)."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        rows = queries.timed(spark, base).where(NEVER_TWICE_BEFORE)
        rows = rows.dropDuplicates(["key", "ts", "n"]) if once == "ever" else rows
        rows = rows.dropDuplicatesWithinWatermark(["key", "ts", "n"]) if once == "within" else rows
        aggregates = [*([F.count("n").alias("rows")] if more else []), F.sum("n").alias("sum")]
        counts = rows.groupBy(F.window("ts", "2 minutes"), "key").agg(*aggregates)
        counts = counts.dropDuplicates(["window", "key"]) if above == "once" else counts
        counts = counts.limit(100_000) if above == "limit" else counts
        return counts.select("window.start", "key", "sum")

    return query


def sessions(later: bool = False, *, limited: bool = False) -> Query:
    """Sessions; of the rows after the savepoint alone where that is said, whatever moves the watermark."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        rows = queries.timed(spark, base).where(THEN if later else "true")
        counts = rows.groupBy(F.session_window("ts", "90 seconds"), "key").agg(F.sum("n").alias("sum"))
        counts = counts.limit(100_000) if limited else counts
        return counts.select("session_window.start", "session_window.end", "key", "sum")

    return query


def joined(is_counted: bool = False, *, columns: tuple[str, ...] = ("key", "ts"), later: bool = False) -> Query:
    """A join that keeps the same columns whether its rows are counted or not; of rows after the savepoint alone where that is said."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        sides = (queries.timed(spark, base, folder).where(THEN if later else "true") for folder in ("events", "clicks"))
        views, clicks = (side.alias(name) for side, name in zip(sides, "vc", strict=True))
        near = F.expr("v.key = c.key AND c.ts BETWEEN v.ts AND v.ts + INTERVAL 1 MINUTE")
        rows = views.join(clicks, near).select(*[f"v.{name}" for name in columns])
        counts = rows.groupBy(F.window("ts", "2 minutes"), "key").agg(F.count("*").alias("n"))
        return counts.select("window.start", "key", "n") if is_counted else rows

    return query


def both(first: str, second: str, filtered: str = "") -> Query:
    """Two alike aggregations, of rows with small and with large numbers, one beside the other."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        parts = {"small": "n < 40", "large": "n >= 40"}
        counts = [
            queries.timed(spark, base)
            .where(parts[name])
            .where(filtered or "true")
            .groupBy(F.window("ts", "2 minutes"), "key")
            .agg(F.sum("n").alias("sum"))
            .select("window.start", "key", "sum", F.lit(name).alias("of"))
            for name in (first, second)
        ]
        return counts[0].union(counts[1])

    return query


def limited(query: Query) -> Query:
    """`query` with an operator above it. The projection between makes rows of what Python answers: without compiled code Spark does not."""
    return lambda spark, base: query(spark, base).selectExpr("*", "1 AS one").limit(100_000)


@dataclass(frozen=True)
class Case:
    """Confs of the store, the code before and now, and what is said of its operators."""

    conf: Mapping[str, str]
    old: Query
    new: Query
    drop: tuple[str, ...] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    reference: Query | None = None
    inputs: tuple[str, ...] = ("events",)
    refused: str = ""
    """The code with which the same is refused where neither is said what is dropped nor what goes on as what."""


ALWAYS = "n < 1000"
"""A filter that keeps all rows: what is computed is another, to whom it may concern."""
CASES = {
    "dropped below, hdfs": Case(HDFS, counted(once="ever"), counted(), ("query.1",)),
    "dropped above a join, format2": Case(FORMAT_2, joined(is_counted=True), joined(), ("query.0",), inputs=("events", "clicks")),
    "a join of column families moves down, format2": Case(
        FORMAT_2 | {JOIN_FORMAT: "3"}, joined(is_counted=True), joined(), ("query.0",), inputs=("events", "clicks")
    ),
    "a join by time begins anew, format2": Case(
        FORMAT_2 | {JOIN_FORMAT: "4"},
        joined(),
        joined(columns=("key", "ts", "n")),
        ("query.0",),
        reference=joined(columns=("key", "ts", "n"), later=True),
        inputs=("events", "clicks"),
    ),
    "added below, changelog": Case(CHANGELOG, counted(), counted(once="ever")),
    "two move, rocksdb": Case(ROCKSDB, counted(once="within"), counted(once="within", above="limit")),
    "sessions move, hdfs": Case(HDFS, sessions(), sessions(limited=True)),
    "added above, with fewer columns, hdfs": Case(HDFS, counted(more=True), counted(above="once")),
    "replaced, rocksdb": Case(ROCKSDB, counted(), sessions(), ("query.0",), reference=sessions(later=True)),
    "exchanged, format2": Case(FORMAT_2, both("small", "large"), both("large", "small")),
    "exchanged and told, hdfs": Case(
        HDFS,
        both("small", "large"),
        both("large", "small", ALWAYS),
        told={"query.0": "query.1", "query.1": "query.0"},
        refused="migrate.ambiguous",
    ),
    "state in pandas moves down, format2": Case(
        FORMAT_2, limited(queries_python.state_in_pandas), queries_python.state_in_pandas, ("query.0",)
    ),
    "state variables and timers move up, format2": Case(FORMAT_2, queries_python.state_variables, limited(queries_python.state_variables)),
    "state variables begin anew, changelog": Case(
        CHANGELOG,
        queries_python.state_variables,
        queries_python.state_variables,
        ("query.0",),
        reference=partial(queries_python.state_variables, rows=THEN),
    ),
}


AT_HOME = {"added above, with fewer columns, hdfs", "state variables and timers move up, format2"}
"""These are rewritten in HDFS."""


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_a_run_of_the_changed_code(spark: Any, tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    goes_on_exactly(spark, tmp_path / "a b", CASES[name], request.getfixturevalue("hdfs_url") if name in AT_HOME else "")


def goes_on_exactly(spark: Any, folder: Path, case: Case, home: str = "") -> None:
    folder.mkdir()
    bench = Bench(Line(case.old, case.conf, inputs=case.inputs), folder, spark, home=home)
    changed, whole = (Bench(replace(bench.line, query=query), folder, spark) for query in (case.new, case.reference or case.new))
    savepoint = saved(bench, whole)
    was, plans = contents(folder / "savepoints"), planned(bench, savepoint, "fork", case.new)
    if case.refused:
        with pytest.raises(Unsupported, match=r"query\.0") as refused:
            migrate(bench, savepoint, "fork", case.new, plans=plans)
        assert refused.value.code == case.refused and ("--map query.0=query.0" if case.told else "--drop query.0") in refused.value.hint
    migrate(bench, savepoint, "fork", case.new, drop=case.drop, told=case.told, plans=plans)
    assert contents(folder / "savepoints") == was, "not a byte of the savepoint is another"
    assert_equal(changed, whole, savepoint.batch + 1)
