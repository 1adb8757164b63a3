"""State variables of other columns, new, gone and renamed: a fork puts out what the changed code puts out that ran from the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.savepoint.matrix import CHANGELOG, FORMAT_2, ROCKSDB, Bench, Line
from tests.savepoint.migrated import migrate
from tests.savepoint.queries_variables import Columns, variables
from tests.savepoint.test_exactness_migrated import FILES, assert_equal, contents, saved

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

AFTER = f"{FILES[0]:03d}.json"
FILES_ALONE = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""With processing time there would always be another batch."""
AVRO = {"spark.sql.streaming.stateStore.encodingFormat": "avro"}


@dataclass(frozen=True)
class Case:
    """Confs of the store, columns before and now, and of the run that the fork is compared with, where these are others."""

    conf: Mapping[str, str]
    old: Columns
    new: Columns
    reference: Columns | None = None
    drop: tuple[str, ...] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    pandas: bool = False
    lives: bool = False
    by_spark: bool = False
    """Whether nothing is rewritten, because Spark goes on with the state by itself."""


CASES = {
    "wider, fewer, more and moved, format2": Case(
        FORMAT_2,
        Columns(held="sum INT, rows LONG", last="n INT, twice INT"),
        Columns(held="rows LONG, later LONG, sum LONG", last="twice LONG, n INT", rest="rest LONG", seen="total LONG"),
    ),
    "in pandas, rocksdb": Case(
        ROCKSDB,
        Columns(held="sum INT, rows LONG", seen="times INT, total INT"),
        Columns(held="later LONG, sum INT", last="n INT", seen="total LONG, times INT"),
        pandas=True,
    ),
    "with times to live, changelog": Case(
        CHANGELOG | FILES_ALONE,
        Columns(held="rows INT, sum LONG", last="n INT"),
        Columns(held="sum LONG, rows LONG", last="n LONG", rest="rest LONG", seen="times LONG"),
        lives=True,
    ),
    "renamed, dropped and new, changelog": Case(
        CHANGELOG,
        Columns(more="all"),
        Columns(held="rows LONG, sum LONG", list_name="newest", more="numbers"),
        Columns(held="rows LONG, sum LONG", list_name="newest", more="numbers", only_later="more"),
        drop=("query.0.all",),
        told={"query.0.last": "query.0.newest"},
    ),
    "one begins anew, format2": Case(FORMAT_2, Columns(), Columns(), Columns(only_later="seen"), drop=("query.0.seen",)),
    "other columns in Avro, by Spark": Case(
        FORMAT_2 | AVRO,
        Columns(held="sum INT, rows LONG"),
        Columns(held="rows LONG, later LONG, sum LONG", last="twice LONG, n INT", seen="total LONG"),
        by_spark=True,
    ),
}


AT_HOME = "renamed, dropped and new, changelog"
"""These are rewritten in HDFS."""


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_a_run_of_the_changed_code(spark: Any, tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    goes_on_exactly(spark, tmp_path / "a b", CASES[name], request.getfixturevalue("hdfs_url") if name == AT_HOME else "")


def goes_on_exactly(spark: Any, folder: Path, case: Case, home: str = "") -> None:
    folder.mkdir()
    old, new, reference = (
        variables(columns, AFTER, pandas=case.pandas, lives=case.lives) for columns in (case.old, case.new, case.reference or case.new)
    )
    bench = Bench(Line(old, case.conf), folder, spark, home=home)
    changed, whole = (Bench(replace(bench.line, query=query), folder, spark) for query in (new, reference))
    savepoint = saved(bench, whole)
    was = contents(folder / "savepoints")
    done, made = migrate(bench, savepoint, "fork", new, drop=case.drop, told=case.told)
    assert bool(done.stores) is not case.by_spark and (made is None) is case.by_spark
    assert contents(folder / "savepoints") == was, "not a byte of the savepoint is another"
    assert_equal(changed, whole, savepoint.batch + 1)
