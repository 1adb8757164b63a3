"""Differences of state that are kept: a cache, bounded, which may be deleted at any time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import SavepointId
from pipelines.domain.state_differences import StateDifference
from pipelines.workspace import readings
from pipelines.workspace.context import Context

PREFIX = "sd"
"""How their ids begin."""
DIFFERENCE_FILE = "difference.json"
MOST = 50
"""So many are kept, and as many bytes as of readings; the oldest go first."""


def find(context: Context, difference: str) -> StateDifference | None:
    """The difference of that id; None where there is none, or a damaged one, which can be made again."""
    prefix, _, digits = difference.partition("-")
    if prefix != PREFIX or not (digits.isascii() and digits.isalnum()):
        return None
    try:
        return context.files.find(StateDifference, context.layout.state_difference(difference) / DIFFERENCE_FILE)
    except Corrupt:
        return None


def rows_file(folder: Path, table: int) -> Path:
    """Where a difference has the keys of a table that differ."""
    return folder / f"{table}.parquet"


def publish(context: Context, difference: StateDifference, built: Path) -> None:
    """Makes `built`, a scratch folder that holds the rows, the difference; an older one of the same id goes to a folder beside `built`."""
    place = context.layout.state_difference(difference.id)
    context.files.write(built / DIFFERENCE_FILE, difference)
    readings.put_in_place(built, place)
    _bound(context, difference)


def forget(context: Context, savepoint: SavepointId) -> None:
    """Removes the differences from and to a savepoint."""
    for kept in list(_every(context)):
        if savepoint in (kept.a.savepoint, kept.b.savepoint):
            shutil.rmtree(context.layout.state_difference(kept.id))


def clean(context: Context) -> None:
    """Removes the differences of points that are gone: of savepoints, and of jobs' batches, whose readings go too."""
    for kept in list(_every(context)):
        if not all(context.files.keeps(at.savepoint) for at in (kept.a, kept.b)):
            shutil.rmtree(context.layout.state_difference(kept.id))


def _bound(context: Context, newest: StateDifference) -> None:
    others = sorted((kept for kept in _every(context) if kept.id != newest.id), key=lambda kept: kept.made_ms, reverse=True)
    bytes_left = readings.most_bytes() - newest.bytes
    for at, kept in enumerate(others, start=1):
        bytes_left -= kept.bytes
        if bytes_left < 0 or at >= MOST:
            shutil.rmtree(context.layout.state_difference(kept.id))


def _every(context: Context) -> Iterator[StateDifference]:
    folder = context.layout.state_differences
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return (kept for name in names if (kept := find(context, name)) is not None)
