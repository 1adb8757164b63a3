"""State that a function of the user's rewrites: what a fork puts out is what the changed code puts out that ran from the start."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipelines.sandbox.user_functions import WrongRows
from tests.savepoint import queries
from tests.savepoint.matrix import FORMAT_2, HDFS, JOIN_FORMAT, Bench, Line
from tests.savepoint.migrated import migrate, planned
from tests.savepoint.queries_python import state_of_columns
from tests.savepoint.queries_variables import Columns, variables
from tests.savepoint.test_exactness_migrated import FILES, assert_equal, contents, saved

pytestmark = pytest.mark.spark

JOINS = """
from pyspark.sql import DataFrame, functions as F
from pyspark.sql.types import StructType


def joined_otherwise(rows: DataFrame, schema: StructType, name: str) -> DataFrame:
    key = F.struct(F.concat("key.field0", F.lit("x")).alias("field0"), (100 - F.col("key.index")).alias("index"))
    if name != "query.0.left":
        return rows.select(key.alias("key"), "value")
    text, twice = F.col("value.n").cast("string").alias("n"), (F.col("value.n") * 2).alias("twice")
    return rows.select(key.alias("key"), F.struct("value.key", "value.ts", text, twice, "value.matched").alias("value"))


def unmatched(rows, schema, name):
    made = joined_otherwise(rows, schema, name)
    return made.withColumn("value", F.col("value").withField("matched", F.lit(None).cast("boolean")))
"""


Rows = Callable[..., Any]


def joined(*left: str, on: str = "key = key_right", rows: Rows = queries.timed, kind: str = "leftOuter") -> Callable[[Any, Path], Any]:
    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        views = rows(spark, base).selectExpr("key", "ts", *left)
        clicks = rows(spark, base, "clicks").selectExpr("key AS key_right", "ts AS clicked", "n AS click")
        return views.join(clicks, F.expr(f"{on} AND clicked BETWEEN ts AND ts + INTERVAL 1 MINUTE"), kind)

    return query


def test_a_function_makes_the_rows_that_wait_on_both_sides_of_a_join(spark: Any, tmp_path: Path) -> None:
    """By another key, which is in another partition, with a column computed of what is there, and one of another type."""
    new = joined("CAST(n AS STRING) AS n", "n * 2 AS twice", on="concat(key, 'x') = concat(key_right, 'x')")
    bench = Bench(Line(joined("n"), HDFS, inputs=("events", "clicks")), tmp_path, spark)
    whole = Bench(replace(bench.line, query=new), tmp_path, spark)
    savepoint = saved(bench, whole)
    was, plans = contents(tmp_path / "savepoints"), planned(bench, savepoint, "fork", new)
    with pytest.raises(WrongRows, match=r"value\.matched is null, and always has a value"):
        migrate(bench, savepoint, "fork", new, "unmatched", JOINS, plans=plans)
    shutil.rmtree(bench.checkpoint("fork") / "migrated")
    done, _ = migrate(bench, savepoint, "fork", new, "joined_otherwise", JOINS, plans=plans)
    assert len(done.stores) == 4 and all(store.given.rows == store.rows > 0 for store in done.stores)
    assert contents(tmp_path / "savepoints") == was, "not a byte of the savepoint is another"
    assert_equal(whole, whole, savepoint.batch + 1)


@pytest.mark.parametrize("rows", [queries.timed, queries.events])
def test_a_function_makes_the_rows_of_a_join_whose_sides_share_a_store(
    spark: Any, tmp_path: Path, rows: Rows, request: pytest.FixtureRequest
) -> None:
    """With a watermark, rewritten in HDFS, and without one."""
    goes_on_exactly(spark, tmp_path, "4", rows, request.getfixturevalue("hdfs_url") if rows is queries.timed else "")


def goes_on_exactly(spark: Any, folder: Path, join_format: str, rows: Rows, home: str = "") -> None:
    """A join whose sides share a store, the fork at `home`."""
    of = partial(joined, rows=rows, kind="leftOuter" if rows is queries.timed else "inner")
    new = of("CAST(n AS STRING) AS n", "n * 2 AS twice", on="concat(key, 'x') = concat(key_right, 'x')")
    bench = Bench(Line(of("n"), FORMAT_2 | {JOIN_FORMAT: join_format}, inputs=("events", "clicks")), folder, spark, home=home)
    whole = Bench(replace(bench.line, query=new), folder, spark)
    savepoint = saved(bench, whole)
    done, _ = migrate(bench, savepoint, "fork", new, "joined_otherwise", JOINS)
    assert len(done.stores) == 1 and done.stores[0].given.rows == done.stores[0].rows > 0
    assert_equal(whole, whole, savepoint.batch + 1)


GROUPS = """
from pyspark.sql import DataFrame, functions as F
from pyspark.sql.types import StructType


def doubled(rows: DataFrame, schema: StructType) -> DataFrame:
    return rows.withColumn("value", F.col("value").withField("groupState.sum", F.col("value.groupState.sum") * 2))
"""


def test_a_function_makes_the_state_of_groups_whose_function_computes_otherwise_now(spark: Any, tmp_path: Path) -> None:
    """Its columns stay: without the function Spark would go on with sums that mean something else. Timeouts stay."""
    old, new = (partial(state_of_columns, columns="sum LONG, rows LONG", after="", times=times) for times in (1, 2))
    bench = Bench(Line(old, HDFS), tmp_path, spark)
    whole = Bench(replace(bench.line, query=new), tmp_path, spark)
    savepoint = saved(bench, whole)
    done, _ = migrate(bench, savepoint, "fork", new, "doubled", GROUPS)
    assert done.stores[0].given.rows == done.stores[0].rows > 0
    assert_equal(whole, whole, savepoint.batch + 1)


VARIABLES = """
from pyspark.sql import DataFrame, functions as F
from pyspark.sql.types import StructType


def remade(rows: DataFrame, schema: StructType, name: str) -> DataFrame:
    if name == "query.0.newest":
        return rows.select("key", F.struct("value.n", (F.col("value.n") * 2).alias("twice")).alias("value"))
    if name == "query.0.held":
        return rows.select("key", F.struct("value.rows", "value.sum").alias("value"))
    if name == "query.0.seen":
        rest = F.struct(F.col("key.userKey.rest").cast("long").alias("rest"))
        key = F.struct("key.key", rest.alias("userKey"))
        return rows.select(key.alias("key"), F.struct("value.total", "value.times").alias("value"))
    return rows


def doubled(rows, schema, name):
    made = remade(rows, schema, name)
    return made.unionAll(made) if name == "query.0.seen" else made


def raising(rows, schema, name):
    return rows.select("nothing")
"""


def test_a_function_makes_the_rows_of_values_lists_and_maps_and_timers_stay(spark: Any, tmp_path: Path) -> None:
    """A list that was renamed, with a column computed of what is there; a value and a map with others; a list that stays as it is."""
    before = Columns(last="n INT", more="all")
    now = Columns("rows LONG, sum LONG", "n INT, twice INT", "rest LONG", "total LONG, times INT", list_name="newest", more="all")
    old, new = (variables(columns, f"{FILES[0]:03d}.json") for columns in (before, now))
    bench = Bench(Line(old, FORMAT_2), tmp_path, spark)
    whole = Bench(replace(bench.line, query=new), tmp_path, spark)
    savepoint, told = saved(bench, whole), {"query.0.last": "query.0.newest"}
    plans = planned(bench, savepoint, "fork", new)
    for function, message in (
        ("doubled", "come more than once (up to 2 times) among the rows of query.0.seen"),
        ("raising", "raising failed in line 24: AnalysisException"),
    ):
        with pytest.raises(WrongRows, match=re.escape(message)):
            migrate(bench, savepoint, "fork", new, function, VARIABLES, told=told, plans=plans)
        shutil.rmtree(bench.checkpoint("fork") / "migrated")
    done, _ = migrate(bench, savepoint, "fork", new, "remade", VARIABLES, told=told, plans=plans)
    assert done.stores[0].given.rows == done.stores[0].rows > 0
    assert_equal(whole, whole, savepoint.batch + 1)
