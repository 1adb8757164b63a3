"""JSON that somebody else wrote."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def read_json(text: str | bytes) -> Any:
    """The value that `text` describes; ValueError for what is no JSON, and for JSON that is nested deeper than Python reads."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def read_exactly(text: str | bytes) -> Any:
    """The value that `text`, written by an engine, describes. Numbers that are no float (decimals of more digits, NaN, infinities) are
    texts, so that no digit is lost."""
    return json.loads(text, parse_float=_number, parse_constant=str)


def _number(text: str) -> float | str:
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else text


def whole(value: object) -> int:
    """`value` itself, which was read; raises ValueError where it is no whole number."""
    if type(value) is not int:
        raise ValueError(value)
    return value
