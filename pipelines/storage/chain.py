"""Appends to a chain of lines, each with the hash of the line before it (`pipelines.domain.audit`)."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.domain.audit import FIRST, canonical, digest, place_of
from pipelines.storage import lines
from pipelines.storage.errors import typed_errors


@dataclass(frozen=True)
class End:
    """The end of a chain: the file's size, the last line's number and hash."""

    size: int
    number: int
    last: str


class ChainFile:
    """The file at `path`, mode 0600. Safe from several threads; a second process waits for its turn, and sees what the first wrote."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = threading.Lock()
        self._end: End | None = None
        self.lost = 0
        """Lines that could not be written since the last one that could."""

    def append(self, content: Mapping[str, Any], torn: Callable[[int], Mapping[str, Any]]) -> None:
        """Appends a line, on disk when this returns. Where a kill tore the last one, its piece is taken away first, and a line with the
        content that `torn` makes of its bytes says so. Unavailable where the disk takes nothing."""
        with self._opened() as descriptor:
            end = self._mended(descriptor, torn)
            self._end = _written(descriptor, end, content)

    def mend(self, torn: Callable[[int], Mapping[str, Any]]) -> None:
        """Takes the piece of a torn last line away, and says so; nothing where the file is whole, or not there."""
        if self._path.exists():
            with self._opened() as descriptor:
                self._end = self._mended(descriptor, torn)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        with self._turn, typed_errors(self._path.name):
            descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield descriptor
            finally:
                os.close(descriptor)

    def _mended(self, descriptor: int, torn: Callable[[int], Mapping[str, Any]]) -> End:
        size = os.fstat(descriptor).st_size
        if self._end is not None and self._end.size == size:
            return self._end
        rest, last = _tail(self._path)
        if rest:
            os.ftruncate(descriptor, size - len(rest))
        end = End(size - len(rest), *(_place(self._path, last) if last else (0, FIRST)))
        return _written(descriptor, end, torn(len(rest))) if rest else end


def _tail(path: Path) -> tuple[bytes, bytes]:
    """What stands after the last end of line, and the line before it."""
    behind = lines.backwards(path)
    return next(behind, b""), next(behind, b"")


def _place(path: Path, last: bytes) -> tuple[int, str]:
    """Number and hash of the last line; one that was damaged keeps the number that it must have had."""
    place = place_of(last)
    return (place[0] if place else sum(1 for _ in lines.forwards(path))), digest(last)


def _written(descriptor: int, end: End, content: Mapping[str, Any]) -> End:
    """One `write` of one whole line."""
    line = canonical({**content, "number": end.number + 1, "before": end.last})
    written = os.write(descriptor, line + b"\n")
    if written <= len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fdatasync(descriptor)
    return End(end.size + written, end.number + 1, digest(line))
