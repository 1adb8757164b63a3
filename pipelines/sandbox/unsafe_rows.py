"""Rows as Spark keeps them in state: the bytes of an UnsafeRow (org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter).

A row is a bit a column for null, filled up to words of 8 bytes, then a word a column, then what does not fit into one, filled up to words;
its word is then offset and length. Executors encode: `encoded` is given to `mapInArrow`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import Any

WORD = 8
LONG_DECIMAL_BYTES = 16
SMALL_DECIMAL = 18
LOCAL = "timestamp_ntz"
FIXED: Mapping[str, str] = {
    "boolean": "<?",
    "byte": "<b",
    "short": "<h",
    "integer": "<i",
    "long": "<q",
    "float": "<f",
    "double": "<d",
    "date": "<i",
    "timestamp": "<q",
    LOCAL: "<q",
}
"""Spark's name of a type -> how it stands in a word. Dates come as days, moments as microseconds since the epoch."""
_FIXED = (
    (re.compile(r"interval (year|month)( to month)?"), "<i"),
    (re.compile(r"interval (day|hour|minute|second)( to [a-z]+)?|time\([0-9]+\)"), "<q"),
)
"""The same of types with parts in their names: intervals come as months or microseconds, times of the day as nanoseconds."""
EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)
EXACT = Context(prec=60)
KEY, VALUE, OTHERS = "key_bytes", "value_bytes", ("partition", "hash")
SCHEMA = f"partition INT, hash BIGINT, {KEY} BINARY, {VALUE} BINARY"

Row = Mapping[str, Any]
Encode = Callable[[Row], bytes]


class CannotEncode(Exception):
    """A type that is not known to be kept in a word or behind one."""


def name(at: int) -> str:
    """What the column at a place is called where a row is given to be encoded."""
    return f"c{at}"


def check(kind: Any) -> None:
    """Raises CannotEncode where a struct in Spark's JSON holds a type that is not encoded."""
    for field in kind["fields"]:
        _sort(field["type"])


def encoder(kind: Mapping[str, Any]) -> Encode:
    """What encodes rows of a struct in Spark's JSON, given as column by `name` -> value."""
    sorts = [(name(at), at, field["type"], _sort(field["type"])) for at, field in enumerate(kind["fields"])]
    inner = {column: encoder(of) for column, _, of, sort in sorts if sort == "struct"}
    bits = WORD * ((len(sorts) + 63) // 64)
    size = bits + WORD * len(sorts)

    def encode(row: Row) -> bytes:
        fixed, behind = bytearray(size), bytearray()
        for column, at, of, sort in sorts:
            value, place = row[column], bits + WORD * at
            if value is None:
                fixed[at // 8] |= 1 << at % 8
            if sort == "fixed":
                if value is not None:
                    struct.pack_into(word(of), fixed, place, (value - EPOCH) // MICROSECOND if of == LOCAL else value)
                continue
            if sort == "small decimal":
                if value is not None:
                    struct.pack_into("<q", fixed, place, _unscaled(value, of))
                continue
            if sort == "void" or (value is None and sort != "decimal"):
                continue
            data = b"" if value is None else _bytes(value, of, sort, inner.get(column))
            struct.pack_into("<q", fixed, place, (size + len(behind)) << 32 | len(data))
            behind += data.ljust(LONG_DECIMAL_BYTES if sort == "decimal" else -(-len(data) // WORD) * WORD, b"\0")
        return bytes(fixed + behind)

    return encode


def encoded(key: Mapping[str, Any], value: Mapping[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For `mapInArrow`: batches of `partition`, `hash`, `key` and `value` (both as `name` has their columns) -> batches of `SCHEMA`."""

    def encode(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        encoders = [(KEY, "key", encoder(key)), (VALUE, "value", encoder(value))]
        for batch in batches:
            columns = {other: batch.column(other) for other in OTHERS}
            for to, column, row_encoder in encoders:
                columns[to] = pa.array([row_encoder(row) for row in batch.column(column).to_pylist()], pa.binary())
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return encode


def word(kind: str) -> str:
    """How a type stands in a word; empty where it does not."""
    return FIXED.get(kind) or next((form for names, form in _FIXED if names.fullmatch(kind)), "")


def _sort(kind: Any) -> str:
    if isinstance(kind, Mapping) and kind.get("type") == "struct":
        check(kind)
        return "struct"
    if isinstance(kind, str):
        if word(kind):
            return "fixed"
        if kind in ("string", "binary", "void"):
            return kind
        if kind.startswith("string collate "):
            return "string"
        if kind.startswith("decimal("):
            return "small decimal" if _precision(kind)[0] <= SMALL_DECIMAL else "decimal"
    known = (*FIXED, "string", "binary", "void", "decimal", "struct", "time")
    raise CannotEncode(f"the type {kind} is not one of {', '.join(known)}, and no interval of months or of microseconds alone")


def _bytes(value: Any, of: Any, sort: str, inner: Encode | None) -> bytes:
    if inner is not None:
        return inner(value)
    if sort == "decimal":
        number = _unscaled(value, of)
        return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
    return value.encode() if sort == "string" else bytes(value)


def _unscaled(value: Decimal, of: str) -> int:
    return int(value.scaleb(_precision(of)[1], EXACT))


def _precision(of: str) -> Sequence[int]:
    return [int(number) for number in of.removeprefix("decimal(").removesuffix(")").split(",")]
