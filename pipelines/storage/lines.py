"""Files of lines, read from either end without ever holding them whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CHUNK_BYTES = 1 << 20
LONGEST_BYTES = 1 << 20
"""A longer line comes in pieces."""


def backwards(path: Path) -> Iterator[bytes]:
    """The lines of a file, the last first: what stands after the last end of line (mostly nothing), then each before it."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        at, rest = file.seek(0, 2), b""
        while at:
            size = min(CHUNK_BYTES, at)
            at -= size
            file.seek(at)
            first, *lines = (file.read(size) + rest).split(b"\n")
            yield from reversed(lines)
            rest = first
        yield rest


def forwards(path: Path) -> Iterator[bytes]:
    """The lines of a file without their ends; nothing where there is no file."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        while line := file.readline(LONGEST_BYTES):
            yield line.removesuffix(b"\n")
