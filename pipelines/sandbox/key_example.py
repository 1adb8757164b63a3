"""Finds one key whose rows differ between two codes, with Spark: each table is read whole, as a proof does, and grouped by key once."""

from __future__ import annotations

from functools import reduce
from typing import Any

from pipelines.domain.json_text import read_exactly
from pipelines.sandbox.counts import Store
from pipelines.sandbox.key_examples import NEW, OLD, SAVED, Examples, ExampleTask, FoundExample, Points
from pipelines.sandbox.reading import PARTITION, as_json, loaded, named, session_of

KEYS = ("key", "user_map_key")
MOST_ROWS = 20
"""Of one key: a list or a side of a join may hold many."""
CONFS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
}


def examples(spark: Any, task: ExampleTask) -> Examples:
    """Of each operator an example of the first of its tables that has one; raises what Spark raises."""
    by_operator = dict[tuple[str, int], FoundExample]()
    for table in task.tables:
        if table.operator not in by_operator and (example := _example(spark, table)) is not None:
            by_operator[table.operator] = example
    return Examples(tuple(by_operator.values()))


def _example(spark: Any, table: Points) -> FoundExample | None:
    """Preferably a key that the savepoint has, that both codes still have after the batch, and that the batch has changed."""
    from pyspark.sql import functions as F

    sides = list(table.stores)
    session = session_of(spark, table.stores[SAVED])
    for name, value in CONFS.items():
        session.conf.set(name, value)
    every = reduce(lambda a, b: a.unionByName(b), (_rows(session, table.stores[side], table.variable, side) for side in sides))
    listed = [F.sort_array(F.collect_list(F.when(F.col("side") == side, F.col("row")))).alias(side) for side in sides]
    before = OLD if OLD in sides else SAVED
    by_key = every.groupBy("key").agg(*listed).where(F.col(before) != F.col(NEW))
    kept = [F.size(side) > 0 for side in sides]
    weights = ((kept[0], 4), (reduce(lambda a, b: a & b, kept), 2), (F.col(SAVED) != F.col(before), 1))
    preference = reduce(lambda a, b: a + b, (F.when(condition, weight).otherwise(0) for condition, weight in weights))
    first = by_key.orderBy(preference.desc(), "key").select("key", *(F.slice(side, 1, MOST_ROWS).alias(side) for side in sides)).first()
    if first is None:
        return None
    query, operator = table.operator
    return FoundExample(query, operator, read_exactly(first["key"]), {side: tuple(map(read_exactly, first[side])) for side in sides})


def _rows(session: Any, store: Store, variable: str, side: str) -> Any:
    """`key` and `row` as JSON, and the side."""
    from pyspark.sql import functions as F

    frame = named(loaded(session, store, variable))
    keys = [name for name in frame.columns if name in KEYS]
    values = [name for name in frame.columns if name not in (*KEYS, PARTITION)]
    packed = [as_json(*names) if names else F.lit("{}") for names in (keys, values)]
    return frame.select(packed[0].alias("key"), packed[1].alias("row"), F.lit(side).alias("side"))
