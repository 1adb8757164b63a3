"""The bytes of a row of state, as Spark's UnsafeRowWriter writes them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from pipelines.sandbox.unsafe_rows import CannotEncode, check, encoder


def struct(*kinds: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": "x", "type": kind} for kind in kinds]}


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
        ((struct("long"),), {"c0": {"c0": 7}}, words("0000000000000000", "1000000010000000", "0000000000000000", "0700000000000000")),
    ],
)
def test_rows_are_encoded(kinds: tuple[Any, ...], row: dict[str, Any], data: bytes) -> None:
    assert encoder(struct(*kinds))(row) == data


def test_a_row_of_more_than_64_columns_has_more_words_for_nulls() -> None:
    row = {f"c{at}": None if at in (0, 64) else at for at in range(65)}
    data = encoder(struct(*["long"] * 65))(row)
    assert len(data) == 8 * (2 + 65) and data[:16] == words("0100000000000000", "0100000000000000")


@pytest.mark.parametrize("kind", [{"type": "array"}, {"type": "map"}, "variant", "interval", struct("variant")])
def test_types_that_are_not_known_are_refused(kind: Any) -> None:
    with pytest.raises(CannotEncode):
        check(struct(kind))
