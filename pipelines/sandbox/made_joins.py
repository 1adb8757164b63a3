"""The rows that wait on both sides of a join in formats 3 and 4, made by the user's function, and what Spark keeps beside them.

The function gets each side's rows as those of formats 1 and 2 are: the key ends with `index`, which tells the rows of one key apart. In
format 3 that is how they are kept, beside how many there are of a key. In format 4 they are kept by key and event time, in their order;
beside them, where they have an event time, is an entry for each, by time and key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pipelines.domain import joins
from pipelines.domain.joins import EVENT_TIME, SIDES
from pipelines.domain.operators import JOIN
from pipelines.domain.state_variables import Family
from pipelines.sandbox import given_rows, made_variables, store_reader, user_functions
from pipelines.sandbox.counts import Store
from pipelines.sandbox.made_variables import INDEX
from pipelines.sandbox.migrations import MigrationTask, Target
from pipelines.sandbox.reading import named_once
from pipelines.sandbox.user_functions import PARTS


def are_made(store: Store, target: Target) -> bool:
    """Whether the user's function makes the rows of a join whose store has column families."""
    return store.operator_name == JOIN and any(family.kinds[1] for family in target.families)


def of(session: Any, task: MigrationTask, store: Store, target: Target) -> list[Any]:
    """The rows of all column families, encoded; raises WrongRows, CannotEncode."""
    families = {family.after: family for family in target.families}
    return [frame for side in SIDES for frame in _side(session, task, store, target, side, families)]


def _side(session: Any, task: MigrationTask, store: Store, target: Target, side: str, families: Mapping[str, Family]) -> Iterator[Any]:
    rows, beside = (families[name] for name in joins.of_side(families, side))
    partitions, is_timed, schema = target.shape.partitions, joins.has_many(rows.after), _schema(rows)
    given_rows.check_types(schema)
    given = user_functions.called(_rows(session, store, rows, partitions), schema, task, f"{target.name}.{side}")
    never_null = joins.never_null(schema["value"].dataType.names)
    numbered = given_rows.numbered(given_rows.typed(given, schema, replace(target, never_null=never_null)), partitions).persist()
    yield made_variables.encoded(_placed(numbered, rows, partitions), rows.after)
    if not is_timed:
        yield made_variables.encoded(_placed(made_variables.counted(numbered, beside), beside, partitions), beside.after)
    elif beside.time:
        entries = _placed(numbered, beside, partitions).withColumn("value", _nothing())
        yield made_variables.encoded(entries, beside.after)


def _schema(family: Family) -> Any:
    """The columns of the new rows, as the function gives them."""
    from pyspark.sql.types import LongType, StructField, StructType

    key = given_rows.struct(family.keys[1])
    key = StructType([*key.fields[:-1], StructField(INDEX, LongType())])
    return given_rows.of_parts(key, given_rows.struct(family.values[1]))


def _rows(session: Any, store: Store, family: Family, partitions: int) -> Any:
    """The old rows as the function gets them."""
    from pyspark.sql import functions as F

    frame = store_reader.reader(session, store).option("stateVarName", family.before).load(store.checkpoint)
    frame = frame.select(*[F.col(part).cast(named_once(frame.schema[part].dataType)).alias(part) for part in PARTS])
    if not joins.has_many(family.before):
        return frame
    key = F.col("key").withField(INDEX, F.monotonically_increasing_id())
    return given_rows.numbered(frame.select(key.dropFields(EVENT_TIME).alias("key"), "value"), partitions)


def _placed(rows: Any, family: Family, partitions: int) -> Any:
    """The rows with their partition and their order, by the key that they are kept by."""
    from pyspark.sql import functions as F

    names = rows.schema["key"].dataType.names
    grouping = [name for name in names if name != INDEX]
    number = F.col("key").getField(INDEX) if INDEX in names else F.lit(0)
    return rows.select(
        F.pmod(F.hash(*[F.col("key").getField(name) for name in grouping]), F.lit(partitions)).cast("int").alias("partition"),
        number.cast("long").alias("hash"),
        (_timed(grouping, family) if joins.has_many(family.after) else F.col("key")).alias("key"),
        "value",
    )


def _timed(grouping: list[str], family: Family) -> Any:
    """The key of format 4. A row whose event time is null is kept by 0, and one without an event time by its number."""
    from pyspark.sql import functions as F

    time = F.coalesce(F.expr(family.time), F.lit(0)) if family.time else F.col(f"key.{INDEX}")
    return F.struct(*[F.col("key").getField(name).alias(name) for name in grouping], time.cast("long").alias(EVENT_TIME))


def _nothing() -> Any:
    """The value of an entry: one column, which is null."""
    from pyspark.sql import functions as F

    return F.struct(F.lit(None).alias("nothing"))
