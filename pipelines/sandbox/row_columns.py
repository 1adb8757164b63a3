"""Columns of new rows as executors encode them, and as Spark hashes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pipelines.sandbox import unsafe_rows
from pipelines.sandbox.user_functions import PARTS

NO_HASH = ("map", "variant")
"""Types that Spark has no hash of."""


def hashed(rows: Any, *parts: str) -> Any:
    """A hash of each row, of its key and value unless parts are named."""
    from pyspark.sql import functions as F

    return F.xxhash64(*(_hashable(F.col(part), rows.schema[part].dataType) for part in parts or PARTS))


def _hashable(column: Any, kind: Any) -> Any:
    """A column with what Spark has no hash of as what it has: maps as arrays of pairs, variants as their type and text."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType

    if not unsafe_rows.holds(json.loads(kind.json()), NO_HASH):
        return column
    if isinstance(kind, StructType):
        inner = _by_place(*(_hashable(column.getField(at.name), at.dataType) for at in kind.fields))
        return F.when(column.isNotNull(), inner)
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda element: _hashable(element, kind.elementType))
    if isinstance(kind, MapType):
        pairs = F.map_entries(column)
        return F.transform(pairs, lambda pair: _by_place(pair["key"], _hashable(pair["value"], kind.valueType)))
    return F.when(column.isNotNull(), _by_place(F.schema_of_variant(column), F.to_json(column)))


def plain(column: Any, kind: Any) -> Any:
    """A column as executors encode it: structs with their columns by place, maps as arrays of pairs, dates, times and intervals as
    numbers."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import (
        ArrayType,
        DateType,
        DayTimeIntervalType,
        MapType,
        NullType,
        StructType,
        TimestampType,
        YearMonthIntervalType,
    )

    if isinstance(kind, StructType):
        inner = [plain(column.getField(at.name), at.dataType) for at in kind.fields]
        return F.when(column.isNotNull(), _by_place(*inner)) if inner else F.lit(0)
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda element: plain(element, kind.elementType))
    if isinstance(kind, MapType):
        pairs = F.map_entries(column)
        return F.transform(pairs, lambda pair: _by_place(plain(pair["key"], kind.keyType), plain(pair["value"], kind.valueType)))
    if isinstance(kind, NullType):
        return F.lit(None).cast("int")
    if isinstance(kind, TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, YearMonthIntervalType):
        return column.cast("interval month").cast("int")
    if isinstance(kind, DayTimeIntervalType):
        return (column.cast("interval second").cast("decimal(19,6)") * 1_000_000).cast("bigint")
    if kind.typeName() == "time":  # which PySpark 4.0 does not have
        return (column.cast("decimal(14,9)") * 1_000_000_000).cast("bigint")
    if kind.typeName() == "interval":
        return F.when(column.isNotNull(), _by_place(*_calendar(column)))
    return F.unix_date(column) if isinstance(kind, DateType) else column


def _by_place(*columns: Any) -> Any:
    from pyspark.sql import functions as F

    return F.struct(*[column.alias(unsafe_rows.name(at)) for at, column in enumerate(columns)])


def _calendar(column: Any) -> Sequence[Any]:
    """The months, days and microseconds of an interval that has all of them."""
    from pyspark.sql import functions as F

    years, months, days, hours, minutes, seconds = (
        F.date_part(F.lit(part), column).cast("decimal(38,6)") for part in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
    )
    micros = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
    return (years * 12 + months).cast("int"), days.cast("int"), micros.cast("bigint")
