"""Rows of state under other columns, byte for byte as they would be encoded anew."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.domain.struct_columns import columns, fits
from pipelines.sandbox.unsafe_columns import changed
from pipelines.sandbox.unsafe_rows import CannotEncode, encoder


def struct(**kinds: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]}


POINT = struct(x="integer", y="string")
ARRAY = {"type": "array", "elementType": "long", "containsNull": True}

MAP = {"type": "map", "keyType": "string", "valueType": ARRAY, "valueContainsNull": True}


@pytest.mark.parametrize(
    ("old", "row", "new", "then"),
    [
        (struct(a="integer", b="string"), (7, "äb"), struct(b="string", a="long"), ("äb", 7)),
        (struct(a="byte", b="short"), (-1, -300), struct(a="short", b="long"), (-1, -300)),
        (struct(a="float"), (0.1,), struct(a="double"), (0.10000000149011612,)),
        (struct(a="long"), (None,), struct(c="string", a="long"), (None, None)),
        (struct(a="decimal(30,2)", b="long"), (Decimal("-1.05"), 3), struct(b="long", a="decimal(30,2)"), (3, Decimal("-1.05"))),
        (struct(a="decimal(30,2)", b="long"), (None, 3), struct(b="long", a="decimal(30,2)"), (3, None)),
        (struct(a="decimal(10,2)", b="boolean"), (Decimal("1.05"), True), struct(b="boolean"), (True,)),
        (
            struct(a="interval day to second", b="interval", c="time(6)", d="string collate UTF8_LCASE"),
            (-5, {"c0": 1, "c1": -1, "c2": 2}, 7, "B"),
            struct(b="interval", d="string collate UTF8_LCASE", c="time(6)", a="interval day to second"),
            ({"c0": 1, "c1": -1, "c2": 2}, "B", 7, -5),
        ),
        (
            struct(v="variant", l=ARRAY, m=MAP),
            ({"value": b"\x0c\x01", "metadata": b"\x01\0\0"}, [1, None], [{"c0": "x", "c1": [2]}]),
            struct(m=MAP, l=ARRAY, v="variant", n="long"),
            ([{"c0": "x", "c1": [2]}], [1, None], {"value": b"\x0c\x01", "metadata": b"\x01\0\0"}, None),
        ),
        (
            struct(p=POINT, n="long"),
            ({"c0": 1, "c1": "one"}, 3),
            struct(p=struct(y="string", x="long", z="date")),
            ({"c0": "one", "c1": 1, "c2": None},),
        ),
    ],
)
def test_a_row_is_what_it_would_be_if_it_were_encoded_anew(
    old: dict[str, Any], row: tuple[Any, ...], new: dict[str, Any], then: tuple[Any, ...]
) -> None:
    made = columns(old, new)
    assert made is not None
    assert changed(made, len(old["fields"]))(encoder(old)(named(row))) == encoder(new)(named(then))


def test_there_may_be_more_than_64_columns() -> None:
    names = [f"n{at}" for at in range(66)]
    old, new = struct(**dict.fromkeys(names, "long")), struct(**dict.fromkeys(reversed(names), "long"))
    values = tuple(None if at % 7 == 0 else at for at in range(66))
    made = columns(old, new)
    assert made is not None
    assert changed(made, 66)(encoder(old)(named(values))) == encoder(new)(named(tuple(reversed(values))))


def test_what_stands_behind_the_words_is_copied_as_it_is() -> None:
    """Of an array nothing is read: it has its length and its offsets within itself."""
    made = columns(struct(a=ARRAY, b="long"), struct(b="long", a=ARRAY))
    blob = encoder(struct(a="binary", b="long"))(named((b"0123456789abcdef", 5)))
    assert made is not None and changed(made, 2)(blob) == encoder(struct(b="long", a="binary"))(named((5, b"0123456789abcdef")))


def test_types_that_are_not_known_are_refused() -> None:
    made = columns(struct(a="geometry(1)", b="long"), struct(a="geometry(1)"))
    with pytest.raises(CannotEncode):
        changed(made or (), 2)


def test_rows_that_spark_reads_as_they_are_meant_stay() -> None:
    assert columns(struct(a="long", b="long"), struct(a="long", renamed="long")) is None
    assert not fits(struct(a="long", b="long"), struct(b="long", a="long")), "by position they would be exchanged"
    assert not fits(struct(a="long", b="long"), struct(b="long", c="long")), "b would be read as what was a"
    arrays = [{"type": "array", "elementType": struct(**dict.fromkeys(names, "long"))} for names in ("ab", "ba")]
    with pytest.raises(ValueError, match="p is of another type"):
        columns(struct(p=arrays[0]), struct(p=arrays[1]))


def named(values: tuple[Any, ...]) -> dict[str, Any]:
    return {f"c{at}": value for at, value in enumerate(values)}
