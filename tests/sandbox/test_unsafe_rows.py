"""The bytes of a row of state, as Spark's UnsafeRowWriter writes them."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.sandbox import row_columns, unsafe_rows
from pipelines.sandbox.reading import NEW_TYPES
from pipelines.sandbox.unsafe_rows import CannotEncode, check, encoder
from tests.sandbox.test_every_type import KEYS, VALUES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEEPER = {
    "decimals": "array(CAST(i AS DECIMAL(10,2)), NULL, CAST(-i AS DECIMAL(10,2)))",
    "long_decimals": "array(CAST(-i AS DECIMAL(38,10)), NULL, CAST(12345678901234567890 AS DECIMAL(38,10)))",
    "flags": "array(true, NULL, false, true, true, false, true, true, true)",
    "many": "transform(sequence(0, 69), x -> IF(x % 7 = 0, NULL, CAST(x AS SMALLINT)))",
    "days": "array(date_add(DATE'2026-01-01', i), NULL)",
    "locals": "map(i, CAST(timestamp_micros(1767225600000000 + i * 1001) AS TIMESTAMP_NTZ))",
    "ages": "array(make_ym_interval(i, 3), NULL)",
    "maps": "map(named_struct('a', i), map('x', array(1.5D, NULL)))",
    "calendars": "array(make_interval(-1, i, 0, -1, 2, 3, -4.5), NULL)",
    "back": "make_interval(0, -i, 0, -1, -2, -3, -4.000001)",
    "empty": "array()",
    "none": "map()",
}


def struct(*kinds: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": "x", "type": kind} for kind in kinds]}


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def words(*texts: str) -> bytes:
    return bytes.fromhex("".join(texts).replace(" ", ""))


@pytest.mark.parametrize(
    ("kinds", "row", "data"),
    [
        ((), {}, b""),
        (("long", "integer"), {"c0": -2, "c1": None}, words("0200000000000000", "feffffffffffffff", "0000000000000000")),
        (("timestamp_ntz",), {"c0": datetime(1969, 12, 31, 23, 59, 59, 999_999)}, words("0000000000000000", "ff" * 8)),
        (("string",), {"c0": "äb"}, words("0000000000000000", "0300000010000000", "c3a4620000000000")),
        (("string", "boolean"), {"c0": "", "c1": True}, words("0000000000000000", "0000000018000000", "0100000000000000")),
        (("decimal(10,2)",), {"c0": Decimal("1.05")}, words("0000000000000000", "6900000000000000")),
        (("decimal(20,2)",), {"c0": Decimal("-1.05")}, words("0000000000000000", "0100000010000000", "97" + "00" * 15)),
        (("void", "integer"), {"c0": None, "c1": 7}, words("0100000000000000", "0000000000000000", "0700000000000000")),
        (("decimal(20,2)",), {"c0": None}, words("0100000000000000", "0000000010000000", "00" * 16)),
        (("interval year to month", "time(6)"), {"c0": -9, "c1": 7}, words("0000000000000000", "f7ffffff00000000", "0700000000000000")),
        (("interval minute to second",), {"c0": -2}, words("0000000000000000", "feffffffffffffff")),
        (("string collate UTF8_LCASE",), {"c0": "B"}, words("0000000000000000", "0100000010000000", "4200000000000000")),
        (
            (array("integer"),),
            {"c0": [1, None, 3]},
            words("0000000000000000", "2000000010000000", "0300000000000000", "0200000000000000", "0100000000000000", "0300000000000000"),
        ),
        (
            (array("string"),),
            {"c0": ["ab", None]},
            words(
                *("0000000000000000", "2800000010000000", "0200000000000000", "0200000000000000"),
                *("0200000020000000", "0000000000000000", "6162000000000000"),
            ),
        ),
        (
            ({"type": "map", "keyType": "byte", "valueType": "long"},),
            {"c0": [{"c0": 1, "c1": 2}]},
            words(
                *("0000000000000000", "3800000010000000", "1800000000000000"),
                *("0100000000000000", "0000000000000000", "0100000000000000"),
                *("0100000000000000", "0000000000000000", "0200000000000000"),
            ),
        ),
        (
            ("interval", "variant"),
            {"c0": {"c0": 1, "c1": -1, "c2": 2}, "c1": {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}},
            words(
                *("0000000000000000", "1000000018000000", "0900000028000000"),
                *("01000000ffffffff", "0200000000000000", "020000000c010100", "0000000000000000"),
            ),
        ),
        ((struct("long"),), {"c0": {"c0": 7}}, words("0000000000000000", "1000000010000000", "0000000000000000", "0700000000000000")),
    ],
)
def test_rows_are_encoded(kinds: tuple[Any, ...], row: dict[str, Any], data: bytes) -> None:
    assert encoder(struct(*kinds))(row) == data


CALENDAR, VARIANT = {"c0": 1, "c1": -1, "c2": 2}, {"value": b"\x0c\x01", "metadata": b"\x01\0\0"}
BY_SPARK: dict[str, tuple[Any, Any, str]] = {
    "flags": (
        array("boolean"),
        [None if at == 1 else at % 2 == 0 for at in range(9)],
        "0000000000000000 2000000010000000 0900000000000000 0200000000000000 0100010001000100 0100000000000000",
    ),
    "many": (
        array("short"),
        [None if at % 7 == 0 else at for at in range(70)],
        "0000000000000000 a800000010000000 4600000000000000 8140201008040281"
        + f"0000000000000000 {''.join(f'{at if at % 7 else 0:02x}00' for at in range(70))} 00000000",
    ),
    "decimals": (
        array("decimal(38,10)"),
        [Decimal("-1.05"), None],
        "0000000000000000 2800000010000000 0200000000000000 0200000000000000 0500000020000000 0000000000000000 fd8e26b700000000",
    ),
    "calendars": (
        array("interval"),
        [CALENDAR, None],
        "0000000000000000 3000000010000000 0200000000000000 0200000000000000 1000000020000000 0000000000000000"
        "01000000ffffffff 0200000000000000",
    ),
    "variants": (
        array("variant"),
        [VARIANT, None],
        "0000000000000000 3000000010000000 0200000000000000 0200000000000000 0900000020000000 0000000000000000"
        "020000000c010100 0000000000000000",
    ),
    "calendar": ("interval", CALENDAR, "0000000000000000 1000000010000000 01000000ffffffff 0200000000000000"),
    "no calendar": ("interval", None, "0100000000000000 1000000010000000 0000000000000000 0000000000000000"),
    "variant": ("variant", VARIANT, "0000000000000000 0900000010000000 020000000c010100 0000000000000000"),
    "empty": (array("long"), [], "0000000000000000 0800000010000000 0000000000000000"),
}
"""Type, value, and a row of it as UnsafeRowWriter and UnsafeArrayWriter of Spark 4.3.0 have written it."""


@pytest.mark.parametrize("name", BY_SPARK)
def test_a_row_is_the_one_that_sparks_own_writers_made(name: str) -> None:
    kind, value, data = BY_SPARK[name]
    assert encoder(struct(kind))({"c0": value}).hex() == data.replace(" ", "")


def test_a_row_of_more_than_64_columns_has_more_words_for_nulls() -> None:
    row = {f"c{at}": None if at in (0, 64) else at for at in range(65)}
    data = encoder(struct(*["long"] * 65))(row)
    assert len(data) == 8 * (2 + 65) and data[:16] == words("0100000000000000", "0100000000000000")


@pytest.mark.parametrize("kind", ["geometry(4326)", array("object"), struct("object")])
def test_types_that_are_not_known_are_refused(kind: Any) -> None:
    with pytest.raises(CannotEncode):
        check(struct(kind))


@pytest.mark.parametrize("kind", [{"type": "map", "keyType": "long", "valueType": "long"}, "variant", "interval", struct(array("variant"))])
def test_types_that_spark_does_not_find_a_key_by_are_refused_in_keys_alone(kind: Any) -> None:
    check(struct(kind))
    with pytest.raises(CannotEncode, match="the key's column x holds a map"):
        check(struct("long", kind), is_key=True)


@pytest.mark.spark
def test_rows_of_every_type_have_the_bytes_that_spark_writes(spark: SparkSession) -> None:
    """Also where all is null, and within structs, arrays and maps."""
    from pyspark.sql import functions as F

    for name, value in NEW_TYPES:
        spark.conf.set(name, value)
    made = {name: f"IF(i = 0, NULL, {sql})" for name, sql in (KEYS | VALUES | DEEPER).items()}
    numbered = spark.range(0, 4, 1, 1).selectExpr("CAST(id AS INT) AS i", "CAST(id AS INT) AS v")
    rows = numbered.selectExpr("i", *(f"{sql} AS {name}" for name, sql in made.items()))
    written = [bytes(row.getBytes()) for row in rows._jdf.queryExecution().executedPlan().executeCollect()]
    kind = json.loads(rows.schema.json())
    check(kind)
    plain = row_columns.plain(F.struct("*"), rows.schema)
    encoded = rows.select(F.lit(0).alias("partition"), F.lit(0).cast("long").alias("hash"), plain.alias("key"), plain.alias("value"))
    ours = [row.value_bytes for row in encoded.mapInArrow(unsafe_rows.encoded(kind, kind), unsafe_rows.SCHEMA).collect()]
    assert [len(data) for data in ours] == [len(data) for data in written]
    assert [bytes(data) for data in ours] == written
    hashes = rows.select(row_columns.hashed(rows, *rows.columns)).collect()
    assert len(set(hashes)) == len(hashes) == 4
