"""Rows as Spark keeps them in state: the bytes of an UnsafeRow (org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter).

A row is a bit a column for null, filled up to words of 8 bytes, then a word a column, then what does not fit into one, filled up to words;
its word is then offset and length. An array is their number, bits for null, the elements (each as long as its type, filled up to words),
then what stands behind them (UnsafeArrayWriter); a map is the length of the array of its keys, that array, and that of its values.
Executors encode: `encoded` is given to `mapInArrow`.
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
NOT_IN_KEYS = ("map", "variant", "interval")
ELEMENTS = ("elementType", "keyType", "valueType")
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
OF_KEY = "key"
KEY, VALUE, OTHERS = "key_bytes", "value_bytes", ("partition", "hash")
WORDS = ("fixed", "small decimal", "void")
SCHEMA = f"partition INT, hash BIGINT, {KEY} BINARY, {VALUE} BINARY"

Row = Mapping[str, Any]
Encode = Callable[[Row], bytes]
Bytes = Callable[[Any], bytes]
RESERVED = ("decimal", "interval")
"""What has its 16 bytes behind the words of a row even where it is null, so that Spark could write there."""


class CannotEncode(Exception):
    """A type that is not known to be kept in a word or behind one."""


def name(at: int) -> str:
    """What the column at a place is called where a row is given to be encoded."""
    return f"c{at}"


def check(kind: Any, *, is_key: bool = False) -> None:
    """Raises CannotEncode where a struct in Spark's JSON holds a type that is not encoded, or not in keys: those are found by their bytes,
    and by a hash that maps do not have."""
    for field in kind["fields"]:
        _sort(field["type"])
        if is_key and holds(field["type"], NOT_IN_KEYS):
            raise CannotEncode(f"the key's column {field['name']} holds a map, a variant or an interval of months, days and microseconds")


def holds(kind: Any, names: Sequence[str]) -> bool:
    """Whether a type in Spark's JSON is one of these, or holds one."""
    if not isinstance(kind, Mapping):
        return kind in names
    return kind.get("type") in names or any(holds(of, names) for of in _inner(kind))


def _inner(kind: Mapping[str, Any]) -> list[Any]:
    return [field["type"] for field in kind.get("fields", ())] + [kind[of] for of in ELEMENTS if of in kind]


def encoder(kind: Mapping[str, Any]) -> Encode:
    """What encodes rows of a struct in Spark's JSON, given as column by `name` -> value; maps as arrays of pairs of `name(0)` and
    `name(1)`, intervals of months, days and microseconds as structs of these."""
    sorts = [(name(at), at, field["type"], _sort(field["type"])) for at, field in enumerate(kind["fields"])]
    behind_of = {column: _behind(of, sort) for column, _, of, sort in sorts}
    bits = WORD * ((len(sorts) + 63) // 64)
    size = bits + WORD * len(sorts)

    def encode(row: Row) -> bytes:
        fixed, behind = bytearray(size), bytearray()
        for column, at, of, sort in sorts:
            value, place = row[column], bits + WORD * at
            if value is None:
                fixed[at // 8] |= 1 << at % 8
            if value is not None and sort in WORDS:
                _put(fixed, place, value, of, sort)
            if sort in WORDS or (value is None and sort not in RESERVED):
                continue
            data = bytes(LONG_DECIMAL_BYTES if sort == "interval" else 0) if value is None else behind_of[column](value)
            struct.pack_into("<q", fixed, place, (size + len(behind)) << 32 | len(data))
            behind += data.ljust(LONG_DECIMAL_BYTES, b"\0") if sort == "decimal" else _filled(data)
        return bytes(fixed + behind)

    return encode


def _array(of: Any) -> Bytes:
    """What encodes arrays of elements of a type."""
    sort = _sort(of)
    width = struct.calcsize(word(of)) if sort == "fixed" else WORD
    behind_of = _behind(of, sort)

    def encode(values: Sequence[Any]) -> bytes:
        bits = WORD + WORD * ((len(values) + 63) // 64)
        fixed, behind = bytearray(bits + -(-width * len(values) // WORD) * WORD), bytearray()
        struct.pack_into("<q", fixed, 0, len(values))
        for at, value in enumerate(values):
            place = bits + width * at
            if value is None:
                fixed[WORD + at // 8] |= 1 << at % 8
            elif sort in WORDS:
                _put(fixed, place, value, of, sort)
            else:
                data = behind_of(value)
                struct.pack_into("<q", fixed, place, (len(fixed) + len(behind)) << 32 | len(data))
                behind += _filled(data)
        return bytes(fixed + behind)

    return encode


def _map(kind: Mapping[str, Any]) -> Bytes:
    arrays = [(name(at), _array(kind[of])) for at, of in enumerate(("keyType", "valueType"))]

    def encode(pairs: Sequence[Row]) -> bytes:
        keys, values = (encode_array([pair[column] for pair in pairs]) for column, encode_array in arrays)
        return struct.pack("<q", len(keys)) + keys + values

    return encode


def _put(fixed: bytearray, place: int, value: Any, of: str, sort: str) -> None:
    """Writes a value of a type that fits into a word."""
    if sort == "small decimal":
        struct.pack_into("<q", fixed, place, _unscaled(value, of))
    elif sort == "fixed":
        struct.pack_into(word(of), fixed, place, (value - EPOCH) // MICROSECOND if of == LOCAL else value)


def _filled(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // WORD) * WORD, b"\0")


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
    if isinstance(kind, Mapping) and kind.get("type") in ("struct", "array", "map"):
        for of in _inner(kind):
            _sort(of)
        return str(kind["type"])
    if isinstance(kind, str):
        if word(kind):
            return "fixed"
        if kind in ("string", "binary", "void", "variant", "interval"):
            return kind
        if kind.startswith("string collate "):
            return "string"
        if kind.startswith("decimal("):
            return "small decimal" if _precision(kind)[0] <= SMALL_DECIMAL else "decimal"
    known = (*FIXED, "string", "binary", "void", "variant", "decimal", "struct", "array", "map", "time", "interval")
    raise CannotEncode(f"the type {kind} is not one of {', '.join(known)}")


def _behind(of: Any, sort: str) -> Bytes:
    """What encodes a value of a type that does not fit into a word."""
    makers: Mapping[str, Callable[[Any], Bytes]] = {
        "struct": encoder,
        "array": lambda kind: _array(kind["elementType"]),
        "map": _map,
        "decimal": lambda kind: lambda value: _signed(_unscaled(value, kind)),
        "string": lambda _: str.encode,
        "variant": lambda _: lambda value: struct.pack("<i", len(value["value"])) + value["value"] + value["metadata"],
        "interval": lambda _: lambda value: struct.pack("<iiq", *(value[name(at)] for at in range(3))),
    }
    return makers[sort](of) if sort in makers else bytes


def _signed(number: int) -> bytes:
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def _unscaled(value: Decimal, of: str) -> int:
    return int(value.scaleb(_precision(of)[1], EXACT))


def _precision(of: str) -> Sequence[int]:
    return [int(number) for number in of.removeprefix("decimal(").removesuffix(")").split(",")]
