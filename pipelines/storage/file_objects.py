"""Files read and written piece by piece, with the same typed errors as whole files."""

from __future__ import annotations

import os
import stat
from types import TracebackType
from typing import Any, BinaryIO, cast

from pipelines.domain.errors import Corrupt
from pipelines.storage import file_rights, handover
from pipelines.storage.errors import typed_errors

KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class TypedErrorFile:
    """A binary file; what reading, writing or closing it refuses is raised as NotFound or Unavailable naming `path`."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path

    def read(self, size: int = -1) -> bytes:
        with typed_errors(self._path):
            return cast(bytes, self._file.read(size))

    def readinto(self, buffer: Any) -> int:
        with typed_errors(self._path):
            return cast(int, self._file.readinto(buffer))

    def write(self, data: Any) -> int:
        with typed_errors(self._path):
            return cast(int, self._file.write(data))

    def seek(self, offset: int, whence: int = 0) -> int:
        with typed_errors(self._path):
            return cast(int, self._file.seek(offset, whence))

    def close(self) -> None:
        with typed_errors(self._path):
            self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> TypedErrorFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Unfinished(TypedErrorFile):
    """A file that is being written; only the end of the block that it is written in closes it."""

    def close(self) -> None:
        """A compressor or archive on top closes what it writes to; whether that is published is not its decision."""


def opened(at: str, mode: str, path: str) -> BinaryIO:
    """The local file `at` in a binary `mode`, with typed errors that name `path`; Corrupt (`storage.not_a_file`) for what is no plain file.

    To open a pipe would wait for who writes to it, and a device never ends.
    """
    with typed_errors(path):
        if "r" not in mode:
            return guarded(open(at, mode), path)
        more = handover.refuse_link(at)
        _refuse_irregular(os.stat(at), path)
        return _plain(os.open(at, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | more), path)


def opened_for_job(path: str) -> BinaryIO:
    """The local file `path`, which somebody names for a job, for reading: with the rights of the job's code, so that a job brings nobody
    what its code may not read. Errors as those of `opened`."""
    with typed_errors(path):
        return _plain(file_rights.open_for_job(path), path)


def _plain(descriptor: int, path: str) -> BinaryIO:
    """The file of a descriptor; Corrupt for what is no plain file: another one may have taken its place before it was opened."""
    file = os.fdopen(descriptor, "rb")
    try:
        _refuse_irregular(os.fstat(descriptor), path)
    except Corrupt:
        file.close()
        raise
    return guarded(file, path)


def _refuse_irregular(seen: os.stat_result, path: str) -> None:
    if stat.S_ISREG(seen.st_mode):
        return
    kind = next((name for is_kind, name in KINDS if is_kind(seen.st_mode)), "no plain file")
    raise Corrupt("storage.not_a_file", f"{path} is {kind}, where a file is needed", "Remove it, or name a plain file.")


def guarded(file: Any, path: str) -> BinaryIO:
    """`file` with typed errors."""
    return cast(BinaryIO, TypedErrorFile(file, path))


def unfinished(file: Any, path: str) -> BinaryIO:
    """`file`, open for writing, with typed errors."""
    return cast(BinaryIO, Unfinished(file, path))
