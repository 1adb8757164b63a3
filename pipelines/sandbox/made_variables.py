"""State variables whose rows the user's function makes: read decoded, given to it one variable at a time, and encoded again.

A row of a value or a list has the grouping key as its key, one of a map the two columns `key` and `userKey`. The key of a list's rows ends
with `index`, their order; how many there are of a key is counted anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.domain import struct_columns
from pipelines.domain.state_variables import COUNT, COUNTER, KEY, LIST, MAP, USER_KEY, Family
from pipelines.sandbox import given_rows, row_columns, store_reader, unsafe_rows, user_functions
from pipelines.sandbox.counting import FAMILY
from pipelines.sandbox.counts import Store
from pipelines.sandbox.migrations import MigrationTask, Target
from pipelines.sandbox.reading import named_once
from pipelines.sandbox.user_functions import PARTS, WrongRows
from pipelines.sandbox.variables import PARTITION, PLACE, SCHEMA

INDEX = "index"


def of(session: Any, task: MigrationTask, store: Store, target: Target) -> tuple[list[Family], list[Any]]:
    """The families whose bytes go on, and the rows of the others, encoded; raises WrongRows, CannotEncode.

    A variable of which the function gives the very rows that it got, with the columns that they had, goes on as it is."""
    kept, given = list[Family](), dict[str, tuple[Family, Any]]()
    counters = {family.after: family for family in target.families if family.kinds[1] == COUNT}
    for family in target.families:
        if family.kinds[1] == COUNT:
            continue
        made = _made(session, task, store, target, family) if family.kinds[1] else None
        if made is not None:
            given[family.after] = family, made
            continue
        kept.append(family)
        counter = counters.get(f"{COUNTER}{family.after}")
        if counter is not None and family.kinds[1]:
            kept.append(replace(counter, before=f"{COUNTER}{family.before}"))
    partitions = target.shape.partitions
    frames = [_encoded(rows, family, family.after, partitions) for family, rows in given.values()]
    lists = [(counters[f"{COUNTER}{name}"], family, rows) for name, (family, rows) in given.items() if f"{COUNTER}{name}" in counters]
    frames += [_encoded(counted(rows, counter), counter, counter.after, partitions) for counter, _, rows in lists]
    return kept, frames


def write(frames: Sequence[Any], place: Path) -> None:
    """Writes the rows once, by partition; raises WrongRows where the user's function fails on the way."""
    from pyspark.errors import PySparkException

    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    try:
        whole.write.partitionBy(PARTITION).parquet(f"file:{place}")
    except PySparkException as error:
        raise WrongRows(f"The new rows cannot be computed: {user_functions.raised(error)}") from error


def check(session: Any, target: Target, place: Path) -> None:
    """Raises WrongRows for a key of a value or a map that comes twice."""
    from pyspark.sql import functions as F

    once = [family.after for family in target.families if family.kinds[1] and family.kinds[1] not in (LIST, COUNT)]
    if not once:
        return
    rows = session.read.schema(SCHEMA).parquet(f"file:{place}").where(F.col(FAMILY).isin(once))
    twice = rows.groupBy(FAMILY, unsafe_rows.KEY).count().where("count > 1").groupBy(FAMILY).agg(F.count("*"), F.max("count")).first()
    if twice:
        message = f"{twice[1]:,} keys come more than once (up to {twice[2]:,} times)"
        raise WrongRows(f"{message} among the rows of {target.name}.{twice[0]}, which has one row a key")


def _made(session: Any, task: MigrationTask, store: Store, target: Target, family: Family) -> Any:
    """What the function makes of a variable's rows; None where it goes on as it is."""
    if LIST in family.kinds and INDEX in (field["name"] for key in family.keys for field in key["fields"]):
        raise unsafe_rows.CannotEncode(f"{family.before} is kept by a column {INDEX}, which is what tells the rows of a list apart")
    schema = _schema(family)
    rows, own = _rows(session, store, family, target.shape.partitions), replace(target, name=f"{target.name}.{family.after}")
    given = user_functions.called(rows, schema, task, own.name)
    if given is rows and family.kinds[0] == family.kinds[1] and all(struct_columns.fits(*pair) for pair in (family.keys, family.values)):
        return None
    given_rows.check_types(schema)
    made = given_rows.typed(given, schema, own)
    return given_rows.numbered(made, target.shape.partitions).persist() if family.kinds[1] == LIST else made


def _schema(family: Family) -> Any:
    """The columns of the new rows."""
    from pyspark.sql.types import LongType, StructField, StructType

    key = given_rows.struct(family.keys[1])
    key = StructType([*key.fields, StructField(INDEX, LongType())]) if family.kinds[1] == LIST else key
    return given_rows.of_parts(key, given_rows.struct(family.values[1]))


def _rows(session: Any, store: Store, family: Family, partitions: int) -> Any:
    """The old rows as the function gets them."""
    from pyspark.sql import functions as F

    frame = store_reader.reader(session, store).option("stateVarName", family.before).load(store.checkpoint)
    key = F.col("key").cast(named_once(frame.schema["key"].dataType))
    if family.kinds[0] == MAP:
        return frame.select(
            F.struct(key.alias(KEY), F.col("user_map_key").alias(USER_KEY)).alias("key"), F.col("user_map_value").alias("value")
        )
    if family.kinds[0] != LIST:
        return frame.select(key.alias("key"), "value")
    ordered = frame.select(key.withField(INDEX, F.monotonically_increasing_id()).alias("key"), F.col("list_element").alias("value"))
    return given_rows.numbered(ordered, partitions)


def counted(rows: Any, counter: Family) -> Any:
    """How many rows of a list there are of each key."""
    from pyspark.sql import functions as F

    key, (count,) = F.col("key").dropFields(INDEX), given_rows.struct(counter.values[1]).fields
    return rows.groupBy(key.alias("key")).agg(F.struct(F.count("*").cast(count.dataType).alias(count.name)).alias("value"))


def _encoded(rows: Any, family: Family, name: str, partitions: int) -> Any:
    """The rows as they are written: in the partition that their grouping key says, a list's in their order."""
    from pyspark.sql import functions as F

    is_list = family.kinds[1] == LIST
    grouping = F.col("key").getField(KEY) if family.kinds[1] == MAP else F.col("key")
    kind = rows.schema["key"].dataType
    kind = kind[KEY].dataType if family.kinds[1] == MAP else kind
    columns = [grouping.getField(column) for column in kind.names if not (is_list and column == INDEX)]
    placed = rows.select(
        F.pmod(F.hash(*columns), F.lit(partitions)).cast("int").alias("partition"),
        (F.col("key").getField(INDEX) if is_list else F.lit(0)).cast("long").alias("hash"),
        (F.col("key").dropFields(INDEX) if is_list else F.col("key")).alias("key"),
        "value",
    )
    return encoded(placed, name)


def encoded(placed: Any, name: str) -> Any:
    """The rows of a column family (`partition`, `hash` for their order, `key`, `value`) as they are written."""
    from pyspark.sql import functions as F

    kinds = [placed.schema[part].dataType for part in PARTS]
    plain = placed.select(
        "partition", "hash", *(row_columns.plain(F.col(part), of).alias(part) for part, of in zip(PARTS, kinds, strict=True))
    )
    encode = unsafe_rows.encoded(*(json.loads(of.json()) for of in kinds))
    made = plain.mapInArrow(encode, unsafe_rows.SCHEMA)
    return made.select("partition", F.col("hash").alias(PLACE), unsafe_rows.KEY, unsafe_rows.VALUE, F.lit(name).alias(FAMILY))
