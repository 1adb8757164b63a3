"""Deduplications whose key has a wider column, or one less: a fork puts out what the changed code puts out that ran from the start."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import Becomes
from pipelines.sandbox.user_functions import WrongRows
from tests.contracts.examples import MIGRATION
from tests.savepoint import queries
from tests.savepoint.matrix import FORMAT_2, HDFS, ROCKSDB, Bench, Line, Query
from tests.savepoint.migrated import migrate, planned
from tests.savepoint.test_exactness_migrated import assert_equal, contents, saved

pytestmark = pytest.mark.spark


def distinct(*key: str, rows: Callable[[Any, Path], Any] = queries.timed, wide: bool = False) -> Query:
    """Values of `n` that come again, also after the savepoint; wide where it is a BIGINT."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        few = rows(spark, base).withColumn("n", (F.col("n") % 45).cast("int"))
        few = (few.withColumn("n", F.col("n").cast("long")) if wide else few).withColumn("more", F.col("n") + 1)
        return few.dropDuplicates(list(key)).select(*key)

    return query


def for_a_while(*key: str, wide: bool = False) -> Query:
    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        few = queries.events(spark, base).withWatermark("ts", "2 minutes").withColumn("n", (F.col("n") % 45).cast("int"))
        few = few.withColumn("n", F.col("n").cast("long")) if wide else few
        return few.withColumn("more", F.col("n") + 1).dropDuplicatesWithinWatermark(list(key)).select("ts", *key)

    return query


def below(*key: str, wide: bool = False, within: bool = False) -> Query:
    """The same with the cast below the watermark, which no projection passes."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        few = queries.events(spark, base).withColumn("n", F.col("n") % 45)
        few = (few.withColumn("n", F.col("n").cast("long")) if wide else few).withWatermark("ts", "2 minutes")
        once = few.dropDuplicatesWithinWatermark(list(key)) if within else few.dropDuplicates(list(key))
        return once.select("ts", "key", "n")

    return query


Case = tuple[Mapping[str, str], Query, Query, str]
"""Store, the code before, the code now, what becomes of the columns of the key."""
EXACT: dict[str, Case] = {
    "wider below the watermark, hdfs": (HDFS, below("key", "ts", "n"), below("key", "n", "ts", wide=True), "kept widened kept"),
    "wider below the watermark and within it, format2": (
        FORMAT_2,
        below("key", "n", within=True),
        below("key", "n", wide=True, within=True),
        "kept widened",
    ),
    "one less, hdfs": (HDFS, distinct("key", "n", "ts"), distinct("key", "ts"), "kept kept dropped"),
    "one less, one wider, without event time, rocksdb": (
        ROCKSDB,
        distinct("key", "n", rows=queries.events),
        distinct("n", rows=queries.events, wide=True),
        "widened dropped",
    ),
    "exchanged, rocksdb": (ROCKSDB, distinct("n", "more", rows=queries.events), distinct("more", "n", rows=queries.events), "kept kept"),
}


@pytest.mark.parametrize("name", EXACT)
def test_rows_are_those_of_a_run_of_the_changed_code(spark: Any, tmp_path: Path, name: str) -> None:
    goes_on_exactly(spark, tmp_path, name, EXACT[name])


def goes_on_exactly(spark: Any, folder: Path, name: str, case: Case) -> None:
    conf, old, new, becomes = case
    bench = Bench(Line(old, conf), folder, spark)
    changed = Bench(replace(bench.line, query=new), folder, spark)
    savepoint = saved(bench, changed)
    was = contents(folder / "savepoints")
    if name.startswith("one less, hdfs"):
        refused(bench, savepoint)
    _, made = migrate(bench, savepoint, "fork", new)
    assert made is not None and [column.becomes for column in made.aggregates] == [Becomes(word) for word in becomes.split()]
    assert contents(folder / "savepoints") == was, "not a byte of the savepoint is another"
    assert_equal(changed, changed, savepoint.batch + 1)


FUNCTION = """
from pyspark.sql import functions as F


def shifted(rows, schema):
    key = F.struct("key.key", (F.col("key.n") + 1).alias("more"))
    return rows.select(key.alias("key"), "value")


def without_an_end(rows, schema, name):
    end = F.lit(None).cast("long").alias("expiresAtMicros")
    return shifted(rows, schema).select("key", F.struct(end).alias("value"))
"""


def pages(to_lower_case: bool) -> Query:
    """Pages in upper and lower case, of which some come again in the other one after the savepoint."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        rows = queries.events(spark, base)
        page = F.when(F.col("n") % 2 == 0, F.upper("key")).otherwise(F.col("key"))
        rows = rows.select((F.lower(page) if to_lower_case else page).alias("page"), (F.col("n") % 13).alias("n"))
        return rows.dropDuplicates(["page", "n"])

    return query


BY_FUNCTION = {
    "lower case, hdfs": (HDFS, pages(False), pages(True), "lower_case", MIGRATION.replace("pages.0", "query.0"), ""),
    "within the watermark, format2": (FORMAT_2, for_a_while("key", "n"), for_a_while("key", "more"), "shifted", FUNCTION, "without_an_end"),
}
"""Store, the code before, the code now, the function, its file, and a function that leaves out what the state always has."""


@pytest.mark.parametrize("name", BY_FUNCTION)
def test_a_function_makes_the_keys_that_were_seen(spark: Any, tmp_path: Path, name: str) -> None:
    conf, old, new, function, code, wrong = BY_FUNCTION[name]
    bench = Bench(Line(old, conf), tmp_path, spark)
    changed = Bench(replace(bench.line, query=new), tmp_path, spark)
    savepoint = saved(bench, changed)
    plans = planned(bench, savepoint, "fork", new)
    if wrong:
        with pytest.raises(WrongRows, match=r"value\.expiresAtMicros is null, and always has a value"):
            migrate(bench, savepoint, "fork", new, wrong, code, plans=plans)
        shutil.rmtree(bench.checkpoint("fork") / "migrated")
    done, _ = migrate(bench, savepoint, "fork", new, function, code, plans=plans)
    assert done.stores[0].given.rows > 0
    assert_equal(changed, changed, savepoint.batch + 1)


def refused(bench: Bench, savepoint: Any) -> None:
    """What the old state does not determine: the copy is as it was."""
    for new, message in ((distinct("key", "n"), "no event time any more"), (distinct("key", "n", "ts", "more"), "more is new in its key")):
        was = contents(bench.folder / "fork") if (bench.folder / "fork").is_dir() else {}
        with pytest.raises(Unsupported, match=message) as error:
            migrate(bench, savepoint, "fork", new)
        assert error.value.code == "migrate.operators" and "--drop" in error.value.hint
        assert was == (contents(bench.folder / "fork") if (bench.folder / "fork").is_dir() else {})
