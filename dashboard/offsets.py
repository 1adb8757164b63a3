"""Offsets of sources in words. Pure."""

from __future__ import annotations

from typing import Any

from pipelines.domain.json_text import read_json
from pipelines.words import formats

BEGINNING = "the beginning"


def words(text: str) -> str:
    """An offset in words: `file log 9`, `clicks: 57 in 2 partitions`, `1,052`; an unknown shape stays as Spark wrote it."""
    if not text:
        return BEGINNING
    offset = _parsed(text)
    if isinstance(offset, dict) and offset.keys() == {"logOffset"}:
        return f"file log {offset['logOffset']}"
    if isinstance(offset, dict) and offset and all(isinstance(parts, dict) and parts for parts in offset.values()):
        return "; ".join(_topic(topic, parts) for topic, parts in offset.items())
    return formats.count(offset) if type(offset) in (int, float) else text


def _topic(topic: str, parts: dict[str, Any]) -> str:
    """A topic's partitions as one sum: what each has is in the whole text."""
    if not all(type(value) is int for value in parts.values()):
        return f"{topic}: {formats.plural(len(parts), 'partition')}"
    return f"{topic}: {sum(parts.values()):,} in {formats.plural(len(parts), 'partition')}"


def _parsed(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return text
