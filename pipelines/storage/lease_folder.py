"""A folder of a lease on a disk, which hosts may share (`pipelines.domain.numbered_leases`)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from pipelines.storage.copies import NO_LINK

LONGEST_BYTES = 65_536
GONE = {errno.ENOENT, errno.ESTALE}
"""What NFS says of a file that another host has removed."""


class DiskFolder:
    """The folder at `path`. A link, unlike a rename, never replaces a name. What is shown of names may be older than what is there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        try:
            return os.listdir(self._path)
        except FileNotFoundError:
            return []

    def read(self, name: str) -> str | None:
        try:
            with open(self._path / name, "rb") as file:
                return file.read(LONGEST_BYTES).decode(errors="replace")
        except OSError as error:
            if error.errno not in GONE:
                raise
            return None

    def create(self, name: str, text: str) -> None:
        self._path.mkdir(mode=0o700, exist_ok=True)
        try:
            with open(self._path / name, "x") as file:
                file.write(text)
        except OSError:
            self.delete(name)
            raise

    def rename(self, name: str, new: str) -> bool:
        try:
            self._link(self._path / name, self._path / new)
        except (FileExistsError, FileNotFoundError):
            return False
        self.delete(name)
        return True

    def delete(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)

    def _link(self, old: Path, new: Path) -> None:
        """A disk without hard links has one host's locks alone to keep others out, and the look at what is there afterwards."""
        try:
            os.link(old, new)
        except OSError as error:
            if error.errno not in NO_LINK:
                raise
            if new.exists():
                raise FileExistsError(new) from error
            old.rename(new)
