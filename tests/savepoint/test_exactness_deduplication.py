"""Deduplications whose key has a wider column, or one less: a fork puts out what the changed code puts out that ran from the start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import Becomes
from tests.savepoint import queries
from tests.savepoint.matrix import FORMAT_2, HDFS, ROCKSDB, Bench, Line, Query
from tests.savepoint.migrated import migrate
from tests.savepoint.test_exactness_migrated import assert_equal, contents, saved

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


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
        return few.dropDuplicatesWithinWatermark(list(key)).select("ts", *key)

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


EXACT = {
    "wider below the watermark, hdfs": (HDFS, below("key", "ts", "n"), below("key", "n", "ts", wide=True), "kept widened kept"),
    "wider below the watermark and within it, format2": (
        FORMAT_2,
        below("key", "n", within=True),
        below("key", "n", wide=True, within=True),
        "kept widened",
    ),
    "wider, in another place, format2": (FORMAT_2, distinct("key", "ts", "n"), distinct("n", "key", "ts", wide=True), "widened kept kept"),
    "one less, hdfs": (HDFS, distinct("key", "n", "ts"), distinct("key", "ts"), "kept kept dropped"),
    "one less, one wider, without event time, rocksdb": (
        ROCKSDB,
        distinct("key", "n", rows=queries.events),
        distinct("n", rows=queries.events, wide=True),
        "widened dropped",
    ),
    "wider, within the watermark, hdfs": (HDFS, for_a_while("key", "n"), for_a_while("key", "n", wide=True), "kept widened"),
}
"""Store, the code before, the code now, what becomes of the columns of the key."""


@pytest.mark.parametrize("name", EXACT)
def test_rows_are_those_of_a_run_of_the_changed_code(spark: Any, tmp_path: Path, name: str) -> None:
    conf, old, new, becomes = EXACT[name]
    bench = Bench(Line(old, conf), tmp_path, spark)
    changed = Bench(replace(bench.line, query=new), tmp_path, spark)
    savepoint = saved(bench, changed)
    was = contents(tmp_path / "savepoints")
    if name.startswith("one less, hdfs"):
        refused(bench, savepoint)
    _, made = migrate(bench, savepoint, "fork", new)
    assert made is not None and [column.becomes for column in made.aggregates] == [Becomes(word) for word in becomes.split()]
    assert contents(tmp_path / "savepoints") == was, "not a byte of the savepoint is another"
    assert_equal(changed, changed, savepoint.batch + 1)


def refused(bench: Bench, savepoint: Any) -> None:
    """What the old state does not determine: the copy is as it was."""
    for new, said in ((distinct("key", "n"), "no event time any more"), (distinct("key", "n", "ts", "more"), "more is new in its key")):
        was = contents(bench.folder / "fork") if (bench.folder / "fork").is_dir() else {}
        with pytest.raises(Unsupported, match=said) as error:
            migrate(bench, savepoint, "fork", new)
        assert error.value.code == "migrate.operators" and "--drop" in error.value.hint
        assert was == (contents(bench.folder / "fork") if (bench.folder / "fork").is_dir() else {})
