"""Appends to a chain of lines, each with the hash of the line before it (`pipelines.domain.audit`).

The chain is written to one file. Once that is large its lines are sealed: they become a compressed file in a folder beside it
(`pipelines.storage.sealed`), and the file begins anew with the line that comes after them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pipelines.domain.audit import FIRST, canonical, digest, place_of
from pipelines.domain.errors import Corrupt
from pipelines.storage import lines, sealed
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Storage
from pipelines.storage.sealed import Sealed

Content = Callable[[str], Mapping[str, Any]]
"""Makes the content of a line of what it says."""


@dataclass(frozen=True)
class End:
    """The end of a chain: the file and its size, the last line's number and hash."""

    inode: int
    size: int
    number: int
    last: str


class ChainFile:
    """The file at `path`, mode 0600, in the folder of `storage`. Safe from several threads; a second process waits for its turn, and sees
    what the first wrote. Sealed files are in `folder`; a file is sealed from `most_bytes` on (0 for never)."""

    def __init__(self, path: Path, folder: Path, storage: Storage, most_bytes: int) -> None:
        self._path, self._folder, self._storage = path, folder, storage
        self._most_bytes = self._seal_bytes = most_bytes
        self._turn = threading.Lock()
        self._end: End | None = None
        self.lost = 0
        """Lines that could not be written since the last one that could."""

    def append(self, content: Mapping[str, Any], mended: Content) -> None:
        """Appends a line, on disk when this returns. Where a kill tore the last one, its piece is taken away first, and a line with the
        content that `mended` makes of that says so. Unavailable where the disk takes nothing."""
        with self._opened() as descriptor:
            end = self._mended(descriptor, mended)
            self._end = _written(descriptor, end, content)

    def mend(self, mended: Content) -> None:
        """Takes the piece of a torn last line away, and says so; nothing where the file is whole, or not there."""
        if self._path.exists():
            with self._opened() as descriptor:
                self._end = self._mended(descriptor, mended)

    def seal(self, said: Content) -> None:
        """Seals the file where it is large; its first line has then the content that `said` makes of that. What cannot be sealed just now
        is tried again when it has grown by a quarter."""
        if not self._most_bytes or self._end is None or self._end.size < self._seal_bytes:
            return
        with self._opened() as descriptor:
            end, seen = self._end, os.fstat(descriptor)
            if end is None or (end.inode, end.size) != (seen.st_ino, seen.st_size):
                return  # another one has sealed, or written: the next line shows how large it is
            self._seal_bytes = end.size + self._most_bytes // 4
            self._seal(end, said)
            self._end, self._seal_bytes = None, self._most_bytes

    def _seal(self, end: End, said: Content) -> None:
        """1. What a killed sealing left goes: its lines are in the file. 2. The lines as a sealed file. 3. The file with the line after
        them, in the place of the one that had them: from then on they are sealed."""
        with self._path.open("rb") as file:
            for left in sealed.every(self._folder):
                if sealed.is_in(file, left):
                    left.path.unlink()  # 1
            file.seek(0)
            place = place_of(file.readline(lines.LONGEST_BYTES).removesuffix(b"\n"))
            path = sealed.path(self._folder, place[0] if place else end.number, end.number)
            if path.exists():
                raise OSError(errno.EBUSY, "a sealed file of these entries is there already", path.name)
            file.seek(0)
            name = path.relative_to(self._path.parent).as_posix()
            self._storage.write(name, sealed.packed(iter(lambda: file.read(sealed.CHUNK_BYTES), b"")))  # 2
        self._storage.write(self._path.name, _line(end, said(name)) + b"\n")  # 3

    @contextmanager
    def reading(self) -> Iterator[tuple[list[Sealed], BinaryIO | None]]:
        """The sealed files, in their order, and the one that goes on after them. It is opened first: what is sealed meanwhile is in it."""
        if not self._path.is_file():
            yield sealed.every(self._folder), None
            return
        with self._path.open("rb") as file:
            yield [each for each in sealed.every(self._folder) if not sealed.is_in(file, each)], file

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file that is at the path once it is locked: another process may have sealed the one that was there."""
        with self._turn, typed_errors(self._path.name):
            is_there = False
            while not is_there:
                descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    is_there = self._path.exists() and os.path.samestat(os.fstat(descriptor), self._path.lstat())
                    if is_there:
                        yield descriptor
                finally:
                    os.close(descriptor)

    def _mended(self, descriptor: int, mended: Content) -> End:
        seen = os.fstat(descriptor)
        if self._end is not None and (self._end.inode, self._end.size) == (seen.st_ino, seen.st_size):
            return self._end
        if not seen.st_size:
            return self._begun(descriptor, mended)
        rest, last = _tail(self._path)
        if rest:
            os.ftruncate(descriptor, seen.st_size - len(rest))
        end = End(seen.st_ino, seen.st_size - len(rest), *(_place(self._path, last) if last else (0, FIRST)))
        torn = f"{len(rest)} bytes of a line that was never whole were taken away"
        return _written(descriptor, end, mended(torn)) if rest else end

    def _begun(self, descriptor: int, mended: Content) -> End:
        """An empty file begins the chain, or goes on after the last sealed one: sealing leaves none empty, so what it had is lost."""
        before, inode = sealed.every(self._folder), os.fstat(descriptor).st_ino
        if not before:
            return End(inode, 0, 0, FIRST)
        lost = f"{self._path.name} was gone: what it had after entry {before[-1].last} is lost"
        return _written(descriptor, End(inode, 0, before[-1].last, _last_hash(before[-1])), mended(lost))


def _last_hash(of: Sealed) -> str:
    """Of its last line; of a damaged file, which nothing can go on after, that of none."""
    try:
        behind = of.backwards()
        return digest(next(behind, b"") or next(behind, b""))
    except Corrupt:
        return FIRST


def _tail(path: Path) -> tuple[bytes, bytes]:
    """What stands after the last end of line, and the line before it."""
    behind = lines.backwards(path)
    return next(behind, b""), next(behind, b"")


def _place(path: Path, last: bytes) -> tuple[int, str]:
    """Number and hash of the last line; one that was damaged keeps the number that it must have had."""
    place = place_of(last)
    return (place[0] if place else _number(path)), digest(last)


def _number(path: Path) -> int:
    """Of the last line, by those before it."""
    behind = lines.forwards(path)
    place = place_of(next(behind, b""))
    return (place[0] if place else 1) + sum(1 for _ in behind)


def _line(end: End, content: Mapping[str, Any]) -> bytes:
    return canonical({**content, "number": end.number + 1, "before": end.last})


def _written(descriptor: int, end: End, content: Mapping[str, Any]) -> End:
    """One `write` of one whole line."""
    line = _line(end, content)
    written = os.write(descriptor, line + b"\n")
    if written <= len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fdatasync(descriptor)
    return End(end.inode, end.size + written, end.number + 1, digest(line))
