"""State migrated for changed code: what a fork puts out is what the changed code puts out that ran from the start."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.savepoints import Savepoint
from pipelines.sandbox.user_functions import WrongRows
from tests.savepoint import queries, queries_python
from tests.savepoint.matrix import CHANGELOG, FORMAT_2, HDFS, JOIN_FORMAT, ROCKSDB, Bench, Line, Query, difference, write_inputs
from tests.savepoint.migrated import migrate, planned

pytestmark = pytest.mark.spark

FILES = (3, 6)
"""Files before the migration, and at the end."""


def windowed(*names: str, by: tuple[str, ...] = ("window", "key")) -> Callable[[Any, Path], Any]:
    """Aggregates by window and key; `_later` ones are of the rows that came after the savepoint alone."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        keys = {"window": F.window("ts", "2 minutes"), "session": F.session_window("ts", "90 seconds"), "key": F.col("key")}
        rows = queries.timed(spark, base).withColumn("amount", F.col("n").cast("decimal(10,2)"))
        later = F.col("_metadata.file_name") >= f"{FILES[0]:03d}.json"
        every = {
            "sum": F.sum("n"),
            "least": F.min("n"),
            "greatest": F.max("n"),
            "wide": F.max(F.col("n").cast("long")).alias("greatest"),
            "mean": F.avg("n"),
            "amount": F.sum("amount"),
            "first": F.min("key"),
            "rows": F.count("*"),
            "keys": F.collect_list("key"),
            "rows_later": F.count(F.when(later, 1)).alias("rows"),
            "amount_later": F.sum(F.when(later, F.col("amount"))).alias("amount"),
            "first_later": F.min(F.when(later, F.col("key"))).alias("first"),
            "mean_later": F.avg(F.when(later, F.col("n"))).alias("mean"),
            "keys_later": F.collect_list(F.when(later, F.col("key"))).alias("keys"),
        }
        made = [every[name] if name.endswith("_later") or name == "wide" else every[name].alias(name) for name in names]
        frame = rows.groupBy(*[keys[name] for name in by]).agg(*made)
        window = "session_window" if "session" in by else "window"
        told = [name.removesuffix("_later").replace("wide", "greatest") for name in names]
        return frame.select(f"{window}.start", f"{window}.end", "key", *told)

    return query


def keyless(*names: str) -> Callable[[Any, Path], Any]:
    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        every = {"sum": F.sum("n").alias("sum"), "rows": F.count("*").alias("rows"), "greatest": F.max("n").alias("greatest")}
        return queries.events(spark, base).agg(*[every[name] for name in names])

    return query


def joined(
    left: tuple[str, ...], right: tuple[str, ...], kind: str = "leftOuter", clicked: Callable[..., Any] = queries.timed
) -> Callable[[Any, Path], Any]:
    """A join that keeps these columns of its sides, and puts out what both keep; `clicked` are the rows of the right one."""

    def query(spark: Any, base: Path) -> Any:
        from pyspark.sql import functions as F

        views = queries.timed(spark, base).selectExpr("key", "ts", *left)
        clicks = clicked(spark, base, "clicks").selectExpr("key AS key_right", "ts AS clicked", *right)
        return views.join(clicks, F.expr("key = key_right AND clicked BETWEEN ts AND ts + INTERVAL 1 MINUTE"), kind)

    return query


LATER = f"_metadata.file_name >= '{FILES[0]:03d}.json'"
SESSION = ("session", "key")


def in_pandas(columns: str) -> Callable[[Any, Path], Any]:
    return partial(queries_python.state_of_columns, columns=columns, after=f"{FILES[0]:03d}.json")


Case = tuple[Mapping[str, str], Query, Query, Query | None]
"""Store, the code before, the code now, and the reference: the code now where nothing is added."""
CASES: dict[str, Case] = {
    "dropped and moved, hdfs": (HDFS, windowed("sum", "mean", "rows", "first"), windowed("first", "rows", "sum"), None),
    "dropped and widened, format2": (FORMAT_2, windowed("amount", "greatest", "sum"), windowed("wide", "amount"), None),
    "added, changelog": (
        CHANGELOG,
        windowed("sum", "least"),
        windowed("rows", "sum", "amount", "keys", "least"),
        windowed("rows_later", "sum", "amount_later", "keys_later", "least"),
    ),
    "state in pandas, hdfs": (HDFS, in_pandas("rows LONG, sum INT"), in_pandas("sum LONG, later LONG"), None),
    "sessions, hdfs": (
        HDFS,
        windowed("greatest", "sum", "first", by=SESSION),
        windowed("rows", "wide", "keys", "first", by=SESSION[::-1]),
        windowed("rows_later", "wide", "keys_later", "first", by=SESSION[::-1]),
    ),
    "join, hdfs": (
        HDFS,
        joined(("n", "n % 3 AS third"), ("n AS click",)),
        joined(("n % 7 AS seventh", "CAST(n AS BIGINT) AS n"), ("key AS again", "n AS click")),
        joined((f"IF({LATER}, n % 7, NULL) AS seventh", "CAST(n AS BIGINT) AS n"), (f"IF({LATER}, key, NULL) AS again", "n AS click")),
    ),
    "join by time, a side without a watermark, format2": (
        FORMAT_2 | {JOIN_FORMAT: "4"},
        joined(("n", "n % 3 AS third"), ("n AS click",), "inner", queries.events),
        joined(("CAST(n AS BIGINT) AS n",), ("key AS again", "n AS click"), "inner", queries.events),
        joined(("CAST(n AS BIGINT) AS n",), (f"IF({LATER}, key, NULL) AS again", "n AS click"), "inner", queries.events),
    ),
    "without a key, rocksdb": (ROCKSDB, keyless("sum", "rows"), keyless("rows"), None),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_a_run_of_the_changed_code(spark: Any, tmp_path: Path, name: str) -> None:
    goes_on_exactly(spark, tmp_path / "a b", name, CASES[name])


def goes_on_exactly(spark: Any, folder: Path, name: str, case: Case) -> None:
    conf, old, new, reference = case
    folder.mkdir()
    mode, inputs = "update" if "without a key" in name else "append", ("events", "clicks") if "join" in name else ("events",)
    bench = Bench(Line(old, conf, mode=mode, inputs=inputs), folder, spark)
    changed, whole = (Bench(replace(bench.line, query=query), folder, spark) for query in (new, reference or new))
    savepoint = saved(bench, whole)
    was = contents(folder / "savepoints")
    _, made = migrate(bench, savepoint, "fork", new)
    assert made is not None and made.changes
    assert contents(folder / "savepoints") == was, "not a byte of the savepoint is another"
    assert_equal(changed, whole, savepoint.batch + 1)


def saved(bench: Bench, whole: Bench) -> Savepoint:
    """A job and the run that it is compared with stop after the first files; the fork is laid down, and the other files are there."""
    write_inputs(bench.line, bench.folder, 0, FILES[0])
    bench.run("original")
    whole.run("reference")
    savepoint = bench.take("original", "sp-1")
    bench.fork(savepoint, "fork")
    write_inputs(bench.line, bench.folder, FILES[0], FILES[1] - FILES[0])
    return savepoint


def assert_equal(changed: Bench, whole: Bench, first: int) -> None:
    changed.run("fork")
    whole.run("reference")
    assert difference(changed.rows("fork"), whole.rows("reference", first)) == {} and whole.rows("reference", first)


FUNCTION = """
from pyspark.sql import DataFrame, functions as F
from pyspark.sql.types import StructType


def by_hour(rows: DataFrame, schema: StructType) -> DataFrame:
    hour = F.struct(F.date_trunc("hour", "key.window.start").alias("hour"))
    sums = [F.sum(f"value.{name}").alias(name) for name in ("sum", "count")]
    return rows.groupBy(hour.alias("key")).agg(F.struct(*sums).alias("value"))


def of_python(rows, schema):
    @F.udf(schema["value"].dataType)
    def swapped(value):
        return {"count": value["count"], "sum": value["sum"]}

    return rows.select("key", swapped("value").alias("value"))


def doubled(rows, schema):
    return of_python(rows.unionAll(rows), schema)


def raising(rows, schema):
    return rows.select("nothing")


def raising_later(rows, schema):
    @F.udf(schema["value"].dataType)
    def broken(value):
        raise ValueError("no such post")

    return rows.select("key", broken("value").alias("value"))


def null(rows, schema):
    return rows.select("key", F.struct(F.lit(None).cast("bigint").alias("count"), "value.sum").alias("value"))


def other_columns(rows, schema):
    return rows.select("key", F.struct("value.sum").alias("value"))


def other_types(rows, schema):
    return rows.select("key", F.struct(F.col("value.count").cast("int").alias("count"), "value.sum").alias("value"))


def no_columns(rows, schema):
    return rows.select("value")


def nothing(rows, schema):
    return None


def ending(rows, schema):
    raise SystemExit(3)


def of_sessions(rows, schema):
    return rows.select("key", F.struct("value.session_window", "value.key", "value.count", "value.sum").alias("value"))


def of_other_sessions(rows, schema):
    moved = F.col("value").withField("session_window.start", F.expr("value.session_window.start + INTERVAL 1 SECOND"))
    return of_sessions(rows.withColumn("value", moved), schema)


def without_a_window(rows, schema):
    key = F.col("key").withField("window", F.when(F.col("key.key").isNull(), F.col("key.window")))
    return of_python(rows, schema).withColumn("key", key)


def without_a_key(rows, schema):
    return of_python(rows, schema).withColumn("key", F.lit(None).cast(schema["key"].dataType))
"""
WRONG = {
    "doubled": "9 keys come more than once (up to 2 times), for example {",
    "raising": "raising failed in line 25: AnalysisException: [UNRESOLVED_COLUMN",
    "raising_later": "The new rows cannot be computed: ValueError: no such post",
    "null": "value.count is null, and always has a value in the new state",
    "other_columns": "value has the columns sum, and has to have count, sum, in this order",
    "other_types": "value.count is int, and has to be bigint",
    "no_columns": "their columns are value, and have to be key and value",
    "nothing": "nothing gave a NoneType: it has to give a DataFrame",
    "ending": "ending failed in line 57: SystemExit: 3",
    "without_a_window": "key.window is null, and always has a value in the new state",
    "without_a_key": "key is null, and always has a value in the new state",
    "absent": "The file has no function absent",
}
"""What is said of each function that does not do."""


def hourly(spark: Any, base: Path) -> Any:
    from pyspark.sql import functions as F

    hours = queries.events(spark, base).withColumn("hour", F.date_trunc("hour", "ts"))
    return hours.groupBy("hour").agg(F.sum("n").alias("sum"), F.count("*"))


def by_minutes(spark: Any, base: Path) -> Any:
    from pyspark.sql import functions as F

    return queries.events(spark, base).groupBy(F.window("ts", "2 minutes"), "key").agg(F.sum("n").alias("sum"), F.count("*"))


def test_a_function_aggregates_by_another_key(spark: Any, tmp_path: Path) -> None:
    """Rows go to the partitions of their new keys, and the fork puts out what the changed code does."""
    bench = Bench(Line(by_minutes, FORMAT_2, mode="update"), tmp_path, spark)
    whole = Bench(replace(bench.line, query=hourly), tmp_path, spark)
    savepoint = saved(bench, whole)
    done, _ = migrate(bench, savepoint, "fork", hourly, "by_hour", FUNCTION)
    assert done.stores[0].given.rows < done.stores[0].rows
    assert_equal(whole, whole, savepoint.batch + 1)


def test_functions_whose_rows_do_not_fit_are_refused_and_change_nothing(spark: Any, tmp_path: Path) -> None:
    new = windowed("rows", "sum")
    bench = Bench(Line(windowed("sum", "rows"), HDFS), tmp_path, spark)
    whole = Bench(replace(bench.line, query=new), tmp_path, spark)
    savepoint = saved(bench, whole)
    checkpoint, plans = bench.checkpoint("fork"), planned(bench, savepoint, "fork", new)
    was = contents(checkpoint)
    for function, message in WRONG.items():
        with pytest.raises(WrongRows) as refused:
            migrate(bench, savepoint, "fork", new, function, FUNCTION, plans=plans)
        assert message in str(refused.value), (function, str(refused.value))
        shutil.rmtree(checkpoint / "migrated")
        assert contents(checkpoint) == was, function
    migrate(bench, savepoint, "fork", new, "of_python", FUNCTION, plans=plans)
    assert_equal(whole, whole, savepoint.batch + 1)


def test_a_function_makes_the_rows_of_sessions_and_cannot_take_them_from_their_keys(spark: Any, tmp_path: Path) -> None:
    new = windowed("rows", "sum", by=SESSION)
    bench = Bench(Line(windowed("sum", "rows", by=SESSION), HDFS), tmp_path, spark)
    whole = Bench(replace(bench.line, query=new), tmp_path, spark)
    savepoint = saved(bench, whole)
    plans = planned(bench, savepoint, "fork", new)
    with pytest.raises(WrongRows, match=r"session_window\.start and key\.sessionStartTime are not the same, and always are"):
        migrate(bench, savepoint, "fork", new, "of_other_sessions", FUNCTION, plans=plans)
    shutil.rmtree(bench.checkpoint("fork") / "migrated")
    migrate(bench, savepoint, "fork", new, "of_sessions", FUNCTION, plans=plans)
    assert_equal(whole, whole, savepoint.batch + 1)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
