"""The sealed files of a chain (`pipelines.storage.chain`): each has the lines of a range of numbers, compressed, and never changes."""

from __future__ import annotations

import gzip
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from pipelines.domain.audit import place_of
from pipelines.domain.errors import Corrupt
from pipelines.storage import lines

CHUNK_BYTES = 1 << 20
_NAME = re.compile(r"(\d{12})-(\d{12})\.jsonl\.gz")


@dataclass(frozen=True, order=True)
class Sealed:
    """A sealed file: the numbers of its first and its last line, and where it is."""

    first: int
    last: int
    path: Path

    @property
    def name(self) -> str:
        """Relative to the workspace."""
        return f"{self.path.parent.name}/{self.path.name}"

    def forwards(self) -> Iterator[bytes]:
        """Its lines without their ends, none where it is gone by now; Corrupt (`audit.unreadable`) from where it is damaged on."""
        with self._reading(), gzip.open(self.path) as file:
            while line := file.readline(lines.LONGEST_BYTES):
                yield line.removesuffix(b"\n")

    def backwards(self) -> Iterator[bytes]:
        """The last line first; Corrupt (`audit.unreadable`) before any where it is damaged."""
        with self._reading(), gzip.open(self.path) as packed, TemporaryFile() as file:
            shutil.copyfileobj(packed, file, CHUNK_BYTES)
            yield from lines.backwards_in(file)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            return
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise Corrupt("audit.unreadable", f"{self.name} is damaged: {error}", "Put a copy of it there, from a backup.") from error


def path(folder: Path, first: int, last: int) -> Path:
    return folder / f"{first:012}-{last:012}.jsonl.gz"


def every(folder: Path) -> list[Sealed]:
    """The sealed files of `folder`, in their order."""
    named = ((match, each) for each in folder.glob("*.gz") if (match := _NAME.fullmatch(each.name)))
    return sorted(Sealed(int(match[1]), int(match[2]), each) for match, each in named)


def is_in(open_file: BinaryIO, sealed: Sealed) -> bool:
    """Whether the file that is written now has all its lines: then it is what a kill left of a sealing."""
    first, last = _ends(open_file)
    begins, ends = place_of(first), place_of(last)
    if begins is None or ends is None or begins[0] != sealed.first or ends[0] < sealed.last:
        return False
    try:
        return next(sealed.forwards(), b"") == first
    except Corrupt:
        return False


def _ends(file: BinaryIO) -> tuple[bytes, bytes]:
    """The first line, and the last whole one."""
    behind = lines.backwards_in(file)
    next(behind, b"")
    last = next(behind, b"")
    file.seek(0)
    return file.readline(lines.LONGEST_BYTES).removesuffix(b"\n"), last


def packed(chunks: Iterable[bytes]) -> bytes:
    """The content of a sealed file."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    return b"".join([*(packer.compress(chunk) for chunk in chunks), packer.flush()])
