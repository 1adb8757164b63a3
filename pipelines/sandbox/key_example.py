"""Finds one key whose rows differ between two codes, with Spark: each table is read whole, as a proof does, and grouped by key once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

from pipelines.domain.json_text import read_exactly
from pipelines.sandbox.counts import Store
from pipelines.sandbox.key_examples import NEW, OLD, SAVED, Examples, ExampleTask, FoundExample, Points
from pipelines.sandbox.reading import LOOK_S, PARTITION, as_json, followed, loaded, named, session_of

KEYS = ("key", "user_map_key")
MOST_ROWS = 20
"""Of one key: a list or a side of a join may hold many."""
CONFS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
}


class TooLate(Exception):
    """Raised where the limit ended the work."""


def examples(spark: Any, task: ExampleTask, folder: Path) -> Examples:
    """Of each operator an example of the first of its tables that has one, as far as that is found in the task's time; raises what Spark
    raises."""
    by_operator, unfinished = dict[tuple[str, int], FoundExample](), dict[tuple[str, int], None]()
    ends = time.monotonic() + task.limit_s
    for table in task.tables:
        if table.operator in by_operator:
            continue
        try:
            with followed(spark, folder, "looking for an example key"), ended_at(ends, spark.sparkContext.cancelAllJobs):
                example = _example(spark, table)
        except TooLate:
            unfinished[table.operator] = None
            continue
        if example is not None:
            by_operator[table.operator] = example
    return Examples(tuple(by_operator.values()), tuple(operator for operator in unfinished if operator not in by_operator))


@contextmanager
def ended_at(ends: float, end_jobs: Callable[[], None]) -> Iterator[None]:
    """Ends the block by `end_jobs`, which has it raise, when it is `ends` on the clock that only goes forward; raises TooLate for it."""
    if time.monotonic() >= ends:
        raise TooLate
    over, is_late = threading.Event(), threading.Event()

    def end() -> None:
        wait_s = ends - time.monotonic()
        while not over.wait(max(wait_s, LOOK_S)):
            is_late.set()
            end_jobs()
            wait_s = LOOK_S  # one that had not begun yet is ended, too

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    try:
        yield
    except Exception as error:
        if is_late.is_set():
            raise TooLate from error
        raise
    finally:
        over.set()
        ending.join()


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
