"""Contents by their SHA-256 below one folder, each once however many files have it: what a backup copies into, and comes back from."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from typing import BinaryIO

from pipelines.domain.errors import Corrupt, NotFound, Unavailable
from pipelines.storage import copies, paths
from pipelines.storage.protocol import Advance, Storage, unwatched

FOLDER = "data"
TRIES = 5
"""A file that somebody writes to while it is read is read so often."""


class Contents:
    """The contents in `storage`. Safe from several threads; several processes may add to one folder at the same time."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._sizes = sizes(storage)
        self._turn = threading.Lock()
        self.new_files = self.new_bytes = 0
        """What was added since."""

    def has(self, sha256: str, size: int) -> bool:
        """Whether this content is there with its size."""
        return self._sizes.get(sha256) == size

    def keep_bytes(self, data: bytes) -> str:
        """Keeps `data`; answers with its SHA-256."""
        digest = hashlib.sha256(data).hexdigest()
        if self._claimed(digest, len(data)):
            self._storage.write(place(digest), data)
        return digest

    def keep(
        self,
        source: Storage,
        path: str,
        size: int,
        sha256: str = "",
        advance: Advance = unwatched,
        *,
        begin: int = 0,
        may_be_shorter: bool = False,
    ) -> tuple[str, int]:
        """Keeps `size` bytes of a file of `source`, those from `begin` on; answers with their SHA-256, which has to be `sha256` where that
        is given, and how many they are: fewer of a file that is shorter by now and `may_be_shorter`.

        Raises Corrupt (`backup.source_damaged`) where it is not, NotFound where the file is gone, Unavailable (`backup.changing`) for one
        that is never twice the same.
        """
        for _ in range(TRIES):
            digest, length = (sha256, size) if sha256 else _digest(source, path, begin, size)
            if length != size and not may_be_shorter:
                continue
            if not self._claimed(digest, length):
                advance(length)
                return digest, length
            if self._copied(source, path, begin, length, digest, advance):
                return digest, length
            self._unclaim(digest, length)
            if sha256:
                hint = "Verify it, and restore the file from a copy, or dispose of what holds it; then back up again."
                raise Corrupt("backup.source_damaged", f"{path} is not what it was when its checksum was made", hint)
        raise Unavailable("backup.changing", f"{path} changes all the time", "Back up again when nobody writes to it.")

    def fetch(self, sha256: str, size: int, target: Storage, path: str, advance: Advance = unwatched) -> None:
        """The content as `path` of `target`; Corrupt (`backup.damaged`) where it is not what it was when it was kept."""
        with copies.opened(self._storage, place(sha256)) as stream, copies.writing(target, path) as file:
            if _poured(stream, file, size + 1, advance) != (sha256, size):
                raise damaged(path, "is not what was backed up")

    def wrong(self, sha256: str, size: int, advance: Advance = unwatched) -> str:
        """What is wrong with a content, read whole; empty where it is what it was when it was kept."""
        try:
            with copies.opened(self._storage, place(sha256)) as stream:
                digest, length = _read(stream, size + 1, advance)
        except NotFound:
            return "is missing"
        if length != size:
            return "has another size"
        return "" if digest == sha256 else "has another SHA-256"

    def read(self, sha256: str, name: str) -> bytes:
        """A small content as it is; Corrupt (`backup.damaged`) like `fetch`."""
        try:
            data = self._storage.read(place(sha256))
        except NotFound as error:
            raise damaged(name, "is missing") from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise damaged(name, "is not what was backed up")
        return data

    def _claimed(self, sha256: str, size: int) -> bool:
        """Whether it is for the caller to write it: it is not there, and nobody else is at it."""
        with self._turn:
            if self.has(sha256, size):
                return False
            self._sizes[sha256] = size
            self.new_files, self.new_bytes = self.new_files + 1, self.new_bytes + size
            return True

    def _unclaim(self, sha256: str, size: int) -> None:
        with self._turn:
            del self._sizes[sha256]
            self.new_files, self.new_bytes = self.new_files - 1, self.new_bytes - size

    def _copied(self, source: Storage, path: str, begin: int, size: int, sha256: str, advance: Advance) -> bool:
        """Copies it; False, and nothing is kept, where it has another SHA-256 or size."""
        try:
            with copies.opened(source, path) as stream, copies.writing(self._storage, place(sha256)) as file:
                stream.seek(begin)
                if _poured(stream, file, size, advance) != (sha256, size):
                    raise _Other
        except _Other:
            return False
        except BaseException:
            self._unclaim(sha256, size)
            raise
        return True


class _Other(Exception):
    """What was copied is not what it should have been; never leaves this module."""


def place(sha256: str) -> str:
    """The path of a content."""
    return paths.join(FOLDER, sha256[:2], sha256)


def sizes(storage: Storage) -> dict[str, int]:
    """Every content that is there, with its bytes."""
    return {paths.name(entry.path): entry.bytes for entry in storage.list(FOLDER)}


def damaged(path: str, why: str) -> Corrupt:
    """What is said of a file of a backup that cannot be restored."""
    return Corrupt("backup.damaged", f"{path} of the backup {why}", "Restore another backup, or a copy of the storage that it lies in.")


def _digest(source: Storage, path: str, begin: int, size: int) -> tuple[str, int]:
    with copies.opened(source, path) as stream:
        stream.seek(begin)
        return _read(stream, size)


def _read(stream: BinaryIO, most: int, advance: Advance = unwatched) -> tuple[str, int]:
    """Reads at most so many bytes; their SHA-256 and how many they were."""
    digest, length = hashlib.sha256(), 0
    for piece in _pieces(stream, most):
        digest.update(piece)
        length += len(piece)
        advance(len(piece))
    return digest.hexdigest(), length


def _poured(stream: BinaryIO, file: BinaryIO, most: int, advance: Advance) -> tuple[str, int]:
    """Copies at most so many bytes; their SHA-256 and how many they were."""
    digest, length = hashlib.sha256(), 0
    for piece in _pieces(stream, most):
        digest.update(piece)
        file.write(piece)
        length += len(piece)
        advance(len(piece))
    return digest.hexdigest(), length


def _pieces(stream: BinaryIO, most: int) -> Iterator[bytes]:
    while most > 0 and (piece := stream.read(min(most, copies.BUFFER_BYTES))):
        most -= len(piece)
        yield piece
