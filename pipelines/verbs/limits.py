"""Limits of what is asked: each text of a declaration is of the kind that its field says, and nothing is endless."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pipelines.domain.errors import Invalid
from pipelines.domain.texts import MOST_ITEMS, NAME, Text

MOST_NUMBER = 2**63 - 1
"""What the catalog can compare with."""


def check(asked: Any) -> None:
    """Raises Invalid for a text of `asked` (a declaration, or a dataclass inside of one) that is too long or has control characters."""
    for part in fields(asked):
        spelt = part.metadata.get("spelling")
        if spelt is not None:
            _check(getattr(asked, part.name), spelt.text, part.name)


def _check(value: Any, text: Text, name: str) -> None:
    if isinstance(value, int) and abs(value) > MOST_NUMBER:
        raise Invalid("request.number", f"{name!r} is a number of {value.bit_length()} bits; it may have 63", "Give a smaller one.")
    if isinstance(value, str):
        text.checked(value, f"{name!r}")
    elif is_dataclass(value):
        check(value)
    elif isinstance(value, Mapping | tuple | list):
        if len(value) > MOST_ITEMS:
            raise Invalid("request.too_many", f"{name!r} has {len(value):,} items; it may have {MOST_ITEMS:,}", "Give fewer.")
        for key, item in _items(value):
            NAME.checked(key, f"A name in {name!r}")
            _check(item, text, name)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    return iter(value.items()) if isinstance(value, Mapping) else (("", item) for item in value)
