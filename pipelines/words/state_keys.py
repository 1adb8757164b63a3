"""Keys of state in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from pipelines.domain.bounds import LATEST_MS
from pipelines.domain.state_keys import KeyHistory
from pipelines.domain.states import StateColumn
from pipelines.words import formats

KEY = "key."


def history(told: KeyHistory) -> str:
    """`changed 3 times since batch 7`, and what is missing."""
    return " ".join(filter(None, (f"changed {formats.plural(len(told.changes), 'time')} since batch {told.since:,}", told.note)))


def typed(columns: Sequence[StateColumn], row: Sequence[Any]) -> str:
    """The key of a row as it is looked up, a column a line (`post=p1`); empty where one of its columns cannot be said."""
    pairs = list(_pairs(columns, row))
    return "" if None in pairs else "\n".join(filter(None, pairs))


def _pairs(columns: Sequence[StateColumn], row: Sequence[Any]) -> Iterator[str | None]:
    for column, value in zip(columns, row, strict=True):
        if column.name.startswith(KEY):
            text = _text(column, value)
            yield None if text is None else f"{column.name.removeprefix(KEY)}={text}"


def _text(column: StateColumn, value: Any) -> str | None:
    if value is None or column.kind == "nested" or "\n" in str(value):
        return None
    if column.kind != "time":
        return str(value).lower() if isinstance(value, bool) else str(value)
    return f"{datetime.fromtimestamp(value / 1_000, UTC):%Y-%m-%dT%H:%M:%S.%fZ}" if 0 <= value <= LATEST_MS else None
