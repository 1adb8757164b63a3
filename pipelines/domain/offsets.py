"""Positions of a source, read from Spark's offset JSON: a place in a log, a number, or one number a partition."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pipelines.domain.json_text import read_json

NOTHING = "nothing read yet"


def positions(offset: str) -> dict[str, str | int]:
    """Name of a place -> where it stands: `{"clicks, partition 0": 120}`, `{"entry of the file log": 12}`; the text where unknown."""
    try:
        read = read_json(offset)
    except ValueError:
        return {"offset": offset}
    if read is None:
        return {"offset": NOTHING}
    if isinstance(read, dict) and read:
        return {name: value for key, inner in read.items() for name, value in _member(key, inner).items()}
    return {"offset": _plain(read)}


def _member(key: str, value: Any) -> Mapping[str, str | int]:
    if key == "logOffset":
        return {"entry of the file log": _plain(value)}
    if isinstance(value, dict) and value and all(isinstance(place, int) for place in value.values()):
        return {f"{key}, partition {name}": place for name, place in sorted(value.items(), key=lambda pair: _place(pair[0]))}
    return {key: _plain(value)}


def _place(name: str) -> tuple[int, str]:
    """Partitions in the order of their numbers."""
    return (int(name), "") if name.isdecimal() else (0, name)


def _plain(value: Any) -> str | int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole or isinstance(value, str) else json.dumps(value)
