"""Finds out what a storage can do: a file system by trying, another by asking."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from pipelines.domain.errors import Invalid
from pipelines.storage import copies, folders
from pipelines.storage.disks import in_the_way
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import How, Storage


@runtime_checkable
class Permits(Protocol):
    """A storage that says beforehand who may write."""

    def refuse_unwritable(self) -> None:
        """Raises Unavailable (`storage.denied`) where nothing may be written in the storage's own folder, which need not be there."""
        ...


@runtime_checkable
class Sums(Protocol):
    """A storage that tells the checksum that it keeps of a file, so that nobody has to read it."""

    def checksum(self, path: str) -> str:
        """Its kind and its value; the kind is another where the storage was set up otherwise. Raises NotFound, and Unavailable where it
        keeps none of the file."""
        ...


@dataclass(frozen=True)
class Abilities:
    """Whether one file can have two names, and whether a copy can share its blocks."""

    hard_links: bool
    reflinks: bool


def abilities(folder: Path) -> Abilities:
    """Abilities of `folder`'s file system, tried in a hidden folder that is removed; raises OSError where nothing can be written."""
    with tempfile.TemporaryDirectory(prefix=".probe-", dir=folder) as scratch:
        place = Path(scratch)
        source = place / "one"
        source.write_bytes(bytes(4_096))
        linked = copies.link(str(source), str(place / "linked"))
        return Abilities(linked, copies.copy(str(source), str(place / "cloned")) is How.REFLINK)


def refuse_unwritable(storage: Storage) -> None:
    """Raises Unavailable (`storage.denied`, `storage.read_only`) where the storage knows, and nothing is written, that nothing may be, and
    Invalid (`storage.no_folder`) where a file is in the way."""
    if folders.local(storage):
        _refuse_unwritable_folder(Path(storage.url))
    elif isinstance(storage, Permits):
        storage.refuse_unwritable()


def _refuse_unwritable_folder(folder: Path) -> None:
    if file := in_the_way(folder):
        raise Invalid("storage.no_folder", f"{file} is a file, and no folder can be made below it", "Name another folder.")
    there = next(part for part in (folder, *folder.parents) if part.exists())
    with typed_errors(str(there)):
        if not os.access(there, os.W_OK | os.X_OK):
            code = errno.EROFS if os.statvfs(there).f_flag & os.ST_RDONLY else errno.EACCES
            raise OSError(code, os.strerror(code), str(there))
