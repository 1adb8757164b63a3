"""Readings: state that was read of savepoints, kept as a cache beside them. It is bounded, and may be deleted at any time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import SavepointId
from pipelines.domain.states import Reading
from pipelines.sandbox.readings import ROWS_FOLDER
from pipelines.workspace.context import Context

READING_FILE = "reading.json"
MOST_BYTES = 5_000_000_000
MOST_BYTES_VARIABLE = "TIDEMARK_STATE_CACHE_BYTES"
"""What all readings together may take; the oldest go first."""


def find(context: Context, savepoint: SavepointId, reading_id: str) -> Reading | None:
    """The reading of that id; None where there is none, or a damaged one, which can be read again."""
    try:
        return context.files.find(Reading, context.layout.reading(savepoint, reading_id) / READING_FILE)
    except Corrupt:
        return None


def files(context: Context, reading: Reading) -> Sequence[str]:
    """The Parquet files that hold its rows."""
    return [str(path) for path in sorted((context.layout.reading(reading.savepoint, reading.id) / ROWS_FOLDER).glob("*.parquet"))]


def size(folder: Path) -> int:
    """Bytes of all files below `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def publish(context: Context, reading: Reading, built: Path) -> None:
    """Makes `built`, a scratch folder that holds the rows, the reading; an older one of the same id goes to a folder beside `built`.

    1. what it is, is written into `built`; 2. the older one moves away; 3. `built` gets its place and is listed, whole.
    """
    place = context.layout.reading(reading.savepoint, reading.id)
    context.files.write(built / READING_FILE, reading)  # 1
    put_in_place(built, place)  # 2, 3
    _bound(context, reading)


def put_in_place(built: Path, place: Path) -> None:
    """Makes the whole folder `built` the one at `place`; an older one there moves away first, beside `built`."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(built.with_name(f"{built.name}.older"))
    built.rename(place)


def most_bytes() -> int:
    """So many bytes all readings may have together; as many all differences."""
    return int(os.environ.get(MOST_BYTES_VARIABLE, MOST_BYTES))


def forget(context: Context, savepoint: SavepointId) -> None:
    """Removes the readings of a savepoint."""
    shutil.rmtree(context.layout.readings_of(savepoint), ignore_errors=True)


def clean(context: Context) -> None:
    """Removes the readings of savepoints that are gone."""
    for folder in _folders(context.layout.readings):
        if not context.files.keeps(SavepointId(folder.name)):
            shutil.rmtree(folder)


def _bound(context: Context, newest: Reading) -> None:
    """Removes the oldest readings until the others fit; the newest stays, however large it is."""
    kept_readings = [reading for folder in _folders(context.layout.readings) for reading in _of(context, SavepointId(folder.name))]
    bytes_left = most_bytes() - newest.bytes
    for reading in sorted(kept_readings, key=lambda reading: reading.read_ms, reverse=True):
        if reading.id == newest.id:
            continue
        bytes_left -= reading.bytes
        if bytes_left < 0:
            shutil.rmtree(context.layout.reading(reading.savepoint, reading.id))


def _of(context: Context, savepoint: SavepointId) -> list[Reading]:
    candidates = (find(context, savepoint, folder.name) for folder in _folders(context.layout.readings_of(savepoint)))
    return [reading for reading in candidates if reading is not None]


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
