"""Files of lines, read from either end without ever holding them whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pipelines.storage import fronts

CHUNK_BYTES = 1 << 20
LONGEST_BYTES = 1 << 20
"""A longer line comes in pieces."""


def backwards(path: Path) -> Iterator[bytes]:
    """The lines of a file, the last first: what stands after the last end of line (mostly nothing), then each before it, down to the first
    whole one that is there still."""
    if path.is_file():
        with path.open("rb") as file:
            yield from backwards_in(file)


def backwards_in(file: BinaryIO) -> Iterator[bytes]:
    """The same of an open one."""
    at, rest = file.seek(0, 2), b""
    while at > (begin := fronts.begin(file.fileno())):
        size = min(CHUNK_BYTES, at - begin)
        at -= size
        file.seek(at)
        first, *lines = (file.read(size) + rest).split(b"\n")
        yield from reversed(lines)
        rest = first
    if not begin:
        yield rest


def forwards(path: Path) -> Iterator[bytes]:
    """The lines of a file that are there still, without their ends; nothing where there is no file."""
    if path.is_file():
        with path.open("rb") as file:
            yield from forwards_in(file)


def forwards_in(file: BinaryIO) -> Iterator[bytes]:
    """The same of an open one."""
    fronts.first_line(file, LONGEST_BYTES)
    while line := file.readline(LONGEST_BYTES):
        yield line.removesuffix(b"\n")
