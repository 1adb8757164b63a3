"""The new rows of a migration: made by columns or by the user's function, checked against the new schema, and encoded by executors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipelines.domain.struct_columns import Struct
from pipelines.sandbox import row_columns, unsafe_rows, user_functions
from pipelines.sandbox.migrations import MigrationTask, Target
from pipelines.sandbox.reading import named_once
from pipelines.sandbox.rewrites import Contents
from pipelines.sandbox.user_functions import PARTS, WrongRows

HASH = "hash"
WINDOW = "spark.timeWindow"
"""The metadata of a column that Spark made of `window` (TimeWindow.marker): rows whose time is null are in none."""
MOST_CHARS = 300


def of(rows: Any, task: MigrationTask, target: Target) -> Any:
    """The new rows, with the types of the new state; `rows` are the old ones (`key`, `value`). Raises WrongRows."""
    schema = schema_of(target)
    check_types(schema)
    given = _by_function(rows, schema, task, target) if task.function and not target.expressions else _by_columns(rows, schema, target)
    return numbered(given, target.shape.partitions).persist() if target.is_numbered else given.select(*PARTS)


def check_types(schema: Any) -> None:
    """Raises CannotEncode for a type of a key or a value that is not known."""
    for part in PARTS:
        unsafe_rows.check(json.loads(schema[part].dataType.json()), is_key=part == unsafe_rows.OF_KEY)


def counted(rows: Any, target: Target) -> Any:
    """How many numbered rows there are of each key, but for its number."""
    from pyspark.sql import functions as F

    schema = schema_of(target)
    *columns, _ = rows.schema["key"].dataType.names
    key = F.struct(*[F.col("key").getField(name).alias(name) for name in columns]).cast(schema["key"].dataType)
    (count,) = schema["value"].dataType.fields
    return rows.groupBy(key.alias("key")).agg(F.struct(F.count("*").cast(count.dataType).alias(count.name)).alias("value"))


def schema_of(target: Target) -> Any:
    """The new schema: `key` and `value`, each name within them once."""
    return of_parts(*(struct(json.loads(text)) for text in (target.shape.key, target.shape.value)))


def struct(kind: Struct) -> Any:
    """Spark's type of a struct, each name within it once."""
    from pyspark.sql.types import StructType

    return named_once(StructType.fromJson(json.loads(json.dumps(kind))))


def of_parts(key: Any, value: Any) -> Any:
    """The schema of rows with such keys and values."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(part, kind, False) for part, kind in zip(PARTS, (key, value), strict=True)])


def encode(given: Any, target: Target, place: Path) -> None:
    """Writes the rows encoded, once, by partition; raises WrongRows where the user's function fails on the way."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    columns = [
        partition(given, target).alias("partition"),
        row_columns.hashed(given).alias(HASH),
        *(row_columns.plain(F.col(part), given.schema[part].dataType).alias(part) for part in PARTS),
    ]
    kinds = (json.loads(given.schema[part].dataType.json()) for part in PARTS)
    encoded = given.select(*columns).mapInArrow(unsafe_rows.encoded(*kinds), unsafe_rows.SCHEMA)
    try:
        encoded.write.partitionBy("partition").parquet(f"file:{place}")
    except PySparkException as error:
        raise WrongRows(f"The new rows cannot be computed: {user_functions.raised(error)}") from error


def check(session: Any, given: Any, place: Path) -> Contents:
    """What was encoded; raises WrongRows for a key that comes twice."""
    from pyspark.sql import functions as F

    frame = session.read.schema(unsafe_rows.SCHEMA).parquet(f"file:{place}")
    keys = frame.groupBy(unsafe_rows.KEY).count().where("count > 1")
    twice = keys.agg(F.count("*"), F.max("count")).first()
    if twice[0]:
        example = given.groupBy("key").count().where("count > 1").select(F.to_json("key")).first()
        shown = f", for example {example[0][:MOST_CHARS]}" if example else ""
        raise WrongRows(f"{twice[0]:,} keys come more than once (up to {twice[1]:,} times){shown}: state has one row a key")
    return summed(frame)


def summed(frame: Any) -> Contents:
    """What rows are of which `hash` has a hash of each."""
    from pyspark.sql import functions as F

    row = frame.agg(F.count("*"), F.coalesce(F.sum(F.col(HASH).cast("decimal(20,0)")), F.lit(0)).cast("string")).first()
    return Contents(int(row[0]), str(row[1]))


def partition(rows: Any, target: Target) -> Any:
    """The partition of each row by its key, as Spark's HashPartitioning has it; 0 for a key without columns."""
    from pyspark.sql import functions as F

    spread_by = -1 if target.is_numbered else target.spread_by or None
    columns = [F.col("key").getField(name) for name in rows.schema["key"].dataType.names][:spread_by]
    return F.pmod(F.hash(*columns), F.lit(target.shape.partitions)).cast("int") if columns else F.lit(0)


def numbered(given: Any, partitions: int) -> Any:
    """The rows with the last column of their keys counted anew, in its order; in so many partitions as the state has, by their keys:
    in the session's number a small state costs a task for each."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    *columns, number = given.schema["key"].dataType.names
    key = [F.col("key").getField(name) for name in columns]
    own = Window.partitionBy(*key).orderBy(F.col("key").getField(number), row_columns.hashed(given, "value"))
    place = F.row_number().over(own) - 1
    return given.repartition(partitions, *key).select(F.col("key").withField(number, place.cast("long")).alias("key"), "value")


def _by_columns(rows: Any, schema: Any, target: Target) -> Any:
    from pyspark.sql import functions as F

    value = F.struct(*_cast(target.expressions, schema["value"].dataType))
    if not target.key:
        return rows.select(F.col("key").cast(schema["key"].dataType).alias("key"), value.alias("value"))
    key = F.struct(*_cast(target.key, schema["key"].dataType))
    return rows.select(key.alias("key"), value.alias("value")).dropDuplicates(["key"])


def _cast(expressions: Sequence[str], kind: Any) -> list[Any]:
    from pyspark.sql import functions as F

    return [F.expr(sql).cast(field.dataType).alias(field.name) for sql, field in zip(expressions, kind.fields, strict=True)]


def _by_function(rows: Any, schema: Any, task: MigrationTask, target: Target) -> Any:
    return typed(user_functions.called(rows, schema, task, target.name), schema, target)


def typed(given: Any, schema: Any, target: Target) -> Any:
    """The function's rows with the types of the new state; one that cannot be in it fails when it is computed."""
    return _agreeing(_refusing_nulls(given.select(*PARTS), schema, target), target)


def _refusing_nulls(given: Any, schema: Any, target: Target) -> Any:
    """The rows with the new types; one that has no value where the new state always has one, which is so of a window in its key, too, fails
    when it is computed."""
    from pyspark.sql import functions as F

    structs = []
    for part in PARTS:
        fields = schema[part].dataType.fields
        windows = tuple(at for at, field in enumerate(fields) if WINDOW in field.metadata)
        needed = target.never_null if part == "value" else windows
        columns = [_value(F.col(part).getField(field.name), part, field, at in needed) for at, field in enumerate(fields)]
        structs.append((_never(F.col(part), F.struct(*columns), part) if columns else F.col(part)).alias(part))
    return given.select(*structs)


def _agreeing(given: Any, target: Target) -> Any:
    """The rows; one whose value says another key than its own fails when it is computed."""
    from pyspark.sql import functions as F

    value = F.col("value")
    for key, copy in target.copies:
        error = F.raise_error(F.lit(f"{copy} and {key} are not the same, and always are in the new state".replace("`", "")))
        value = F.when(F.expr(f"NOT ({copy} <=> {key})"), error.cast(given.schema["value"].dataType)).otherwise(value)
    return given.select("key", value.alias("value"))


def _value(column: Any, part: str, field: Any, is_needed: bool) -> Any:

    typed = column.cast(field.dataType)
    return (_never(column, typed, f"{part}.{field.name}") if is_needed else typed).alias(field.name)


def _never(column: Any, typed: Any, name: str) -> Any:
    """`typed`; an error where `column`, which is called `name`, is null."""
    from pyspark.sql import functions as F

    error = F.raise_error(F.lit(f"{name} is null, and always has a value in the new state"))
    return F.when(column.isNull(), error).otherwise(typed)
