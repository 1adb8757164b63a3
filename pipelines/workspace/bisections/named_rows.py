"""The rows that a script which judges names as wrong: `wrong.jsonl` in its folder, an object a line, such as a key or a whole row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.domain import secrets
from pipelines.domain.errors import Conflict
from pipelines.domain.json_text import read_exactly
from pipelines.storage import handover

FILE = "wrong.jsonl"
MOST_BYTES = 4 * 1024 * 1024
"""What comes after is not read."""
MOST_COLUMNS = 100

Named = tuple[tuple[str, ...], tuple[tuple[Any, ...], ...], bool]


def read(folder: Path, most: int, hidden: Sequence[bytes]) -> Named:
    """Their columns, at most `most` of them without what is `hidden`, and whether there are more; nothing where the script named none.

    Raises Conflict (`bisect.script`) for a line that is no object, and for too many columns."""
    try:
        with open(folder / FILE, "rb", opener=handover.plain_opener) as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return (), (), False
    whole = data if len(data) <= MOST_BYTES else data[: data.rfind(b"\n", 0, MOST_BYTES) + 1]
    lines = [line for line in secrets.starred(whole, hidden).split(b"\n") if line.strip()]
    rows = [_object(number, line) for number, line in enumerate(lines[:most], start=1)]
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    if len(columns) > MOST_COLUMNS:
        raise _refuse(f"the rows in {FILE} have {len(columns):,} columns, and may have {MOST_COLUMNS}")
    kept = tuple(tuple(row.get(name) for name in columns) for row in rows)
    return columns, kept, len(lines) > most or len(whole) < len(data)


def _object(number: int, line: bytes) -> Mapping[str, Any]:
    try:
        row = read_exactly(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise _refuse(f"line {number:,} of {FILE} is no JSON object")
    return row


def _refuse(why: str) -> Conflict:
    return Conflict(
        "bisect.script", f"What the script names as wrong cannot be read: {why}", 'Write a line like {"key": "a"} for each row.'
    )
