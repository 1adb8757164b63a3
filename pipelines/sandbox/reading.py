"""Reads one table of state with Spark's own `statestore` source and leaves its rows as Parquet.

Measured with Spark 4.3.0: the source gives `key` and `value` as structs and `partition_id`; of a list variable `key` and `list_element`, of
a map `key`, `user_map_key` and `user_map_value`. A side of a join is read by `joinSide` in every state format of joins; the event time that
it gives with the keys of format 4 is none, and is left out. Keys and values that hold nothing (a deduplication's value, a limit's key) are
of the type void, which Parquet does not have: they are left out.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipelines.domain.joins import EVENT_TIME, SIDES
from pipelines.domain.migrated_columns import once
from pipelines.domain.states import ALL_TIMERS
from pipelines.sandbox import store_reader
from pipelines.sandbox.counts import Store
from pipelines.sandbox.readings import FAR_FILE, ROWS_FOLDER, Far, ReadRows, ReadTask

PARTITION = "partition_id"
NEW_TYPES = (("spark.sql.timeType.enabled", "true"), ("spark.sql.geospatial.enabled", "true"))
"""Spark 4.3 knows these types where a session asks for them alone."""
JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Options of Spark's JSON, which has neither nulls nor microseconds otherwise."""
ODD = re.compile(r"\b(interval|variant)\b")
"""In the name of a type that holds one."""
PLACES = ("geometry", "geography")
PLACE = re.compile(rf"\b({'|'.join(PLACES)})\b")
LOOK_S = 0.2
MICROS = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
"""Spark's default is INT96, which does not say whether a value is a moment or a local time."""


def read(spark: Any, task: ReadTask, folder: Path) -> ReadRows:
    """Writes the rows to `rows` in `folder`; raises what Spark raises."""
    frame = storable(table(spark, task.store, task.variable))
    with followed(spark, folder, "counting rows"):
        counted = {int(partition): int(rows) for partition, rows in frame.groupBy(PARTITION).count().collect()}
    total = sum(counted.values())
    kept = frame if total <= task.limit else frame.limit(task.limit)
    with followed(spark, folder, "reading rows"):
        kept.write.option("compression", "snappy").parquet(str(folder / ROWS_FOLDER))
    return ReadRows(spark.version, counted, min(total, task.limit))


def table(spark: Any, store: Store, variable: str) -> Any:
    """The table, as the statestore source has it."""
    return loaded(session_of(spark, store), store, variable)


def session_of(spark: Any, store: Store) -> Any:
    """A session that reads the store's tables."""
    reading = store_reader.session_of(spark, store)
    reading.conf.set(*MICROS)
    for name, value in NEW_TYPES:
        spark.conf.set(name, value)
        reading.conf.set(name, value)
    return reading


def loaded(session: Any, store: Store, variable: str) -> Any:
    """The table in a session that can read it."""
    reader = _reader(session, store, variable).option("batchId", store.batch)
    frame = reader.load(store.checkpoint)
    if variable == ALL_TIMERS:
        return _timers(frame)
    return _timeless(frame) if store.store in SIDES else frame


def changes(spark: Any, store: Store, variable: str, since: int) -> Any:
    """What the batches after `since`, up to the store's, changed in the table: its columns, and `batch_id` and `change_type`."""
    reader = _reader(session_of(spark, store), store, variable).option("readChangeFeed", "true")
    return reader.option("changeStartBatchId", since + 1).option("changeEndBatchId", store.batch).load(store.checkpoint)


def _reader(session: Any, store: Store, variable: str) -> Any:
    reader = session.read.format("statestore").option("operatorId", store.operator)
    if store.store in SIDES:
        return reader.option("joinSide", store.store)
    if variable == ALL_TIMERS:
        return reader.option("readRegisteredTimers", "true")
    return reader.option("stateVarName", variable) if variable else reader.option("storeName", store.store)


def _timers(frame: Any) -> Any:
    """A row for each timer: `key`, when it `expires`, `partition_id`."""
    from pyspark.sql import functions as F

    return frame.select("key", F.timestamp_millis("expiration_timestamp_ms").alias("expires"), PARTITION)


def _timeless(frame: Any) -> Any:
    """The rows of a side of a join without the event time that ends the keys of format 4: Spark takes it off each, and reads what lies
    behind them in memory."""
    from pyspark.sql import functions as F

    if EVENT_TIME not in frame.schema["key"].dataType.names:
        return frame
    return frame.withColumn("key", F.col("key").dropFields(EVENT_TIME))


def as_json(*columns: str) -> Any:
    """The columns as one JSON object, in which no microsecond and no null is lost."""
    from pyspark.sql import functions as F

    return F.to_json(F.struct(*columns), JSON)


def storable(frame: Any) -> Any:
    """`named(frame)` as Parquet has it and DuckDB compares it: intervals, whose unit Parquet does not have, are texts, variants JSON."""
    return _without(named(frame), ODD)


def _without(frame: Any, odd: re.Pattern[str]) -> Any:
    from pyspark.sql import functions as F

    return frame.select(*(_plain(F.col(field.name), field.dataType, odd).alias(field.name) for field in frame.schema.fields))


def _plain(column: Any, kind: Any, odd: re.Pattern[str]) -> Any:
    """The column with other types in place of the `odd` ones, at any depth."""
    from pyspark.sql import functions as F

    name = kind.typeName()
    if not odd.search(kind.simpleString()):
        return column
    if name in PLACES:
        return F.st_asbinary(column)
    if "interval" in name:
        return column.cast("string")
    if name == "variant":
        return F.to_json(column)
    if name == "array":
        return F.transform(column, lambda element: _plain(element, kind.elementType, odd))
    if name == "map":
        return F.transform_values(column, lambda _, value: _plain(value, kind.valueType, odd))
    if name == "struct":
        parts = [_plain(column.getField(inner.name), inner.dataType, odd).alias(inner.name) for inner in kind.fields]
        return F.when(column.isNotNull(), F.struct(*parts))
    return column


def named(frame: Any) -> Any:
    """`frame` without columns and fields of the type void; structs keep their names, of which each comes once (two sums are `sum` and
    `sum_2`). Geometries and geographies, which Spark writes neither as JSON nor for others to read, are bytes (WKB)."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import NullType, StructType

    kept = []
    for field in frame.schema.fields:
        if isinstance(field.dataType, StructType):
            kind = named_once(field.dataType)
            inside = [inner.name for inner in kind.fields if not isinstance(inner.dataType, NullType)]
            parts = [F.col(field.name).cast(kind).getField(name).alias(name) for name in inside]
            kept += [F.struct(*parts).alias(field.name)] if parts else []
        elif not isinstance(field.dataType, NullType):
            kept.append(F.col(field.name))
    return _without(frame.select(*kept), PLACE)


def named_once(kind: Any) -> Any:
    """The struct with its fields in their order, and a number at each name that came before."""
    from pyspark.sql.types import StructField, StructType

    names = [inner.name for inner in kind.fields]
    if len(set(names)) == len(names):
        return kind
    fields = zip(once(names), kind.fields, strict=True)
    return StructType([StructField(name, inner.dataType, inner.nullable, inner.metadata) for name, inner in fields])


@contextmanager
def followed(spark: Any, folder: Path, step: str) -> Iterator[None]:
    """Writes how many partitions of the block's Spark job are done, as long as it lasts."""
    tracker = spark.sparkContext.statusTracker()

    def far() -> Far:
        stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
        return Far(step, sum(info.numCompletedTasks for info in stages), sum(info.numTasks for info in stages))

    with telling(folder, far):
        yield


@contextmanager
def telling(folder: Path, far: Callable[[], Far]) -> Iterator[None]:
    """Writes how far the block's work is, again and again as long as it lasts."""
    over = threading.Event()

    def look() -> None:
        while True:
            _say(folder, far())
            if over.wait(LOOK_S):
                return

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def _say(folder: Path, far: Far) -> None:
    aside = folder / f".{FAR_FILE}.tmp"
    aside.write_text(json.dumps(asdict(far)))
    aside.replace(folder / FAR_FILE)
