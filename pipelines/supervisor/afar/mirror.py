"""Brings what a driver on the cluster says into its run's folder, where everything else reads it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.bounds import Count
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.segments import MERGED, SEGMENTS, Piece, decode, following, spans
from pipelines.storage import documents
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage

MIRRORED_FILE = "mirrored.json"


@dataclass(frozen=True)
class Mirrored:
    """How far the driver's segments are in the run's folder, and on disk."""

    number: Count


class Mirror:
    """The folder of one run, and what its driver keeps at `home`."""

    def __init__(self, home: Storage, folder: Path) -> None:
        self._home = home
        self._folder = folder
        self._files = open_storage(str(folder))
        noted = folder / MIRRORED_FILE
        self._number = documents.decode(Mirrored, noted.read_bytes(), MIRRORED_FILE).number if noted.is_file() else 0

    @property
    def told(self) -> int:
        """The number up to which the driver is told that its segments are here: it need not be told of each."""
        return self._number // MERGED * MERGED

    def pull(self) -> None:
        """Applies all segments that are there and new, in their order. What a killed mirror applied already changes nothing.

        Raises what the storage raises, and Corrupt (`segments.damaged`).
        """
        there = spans(entry.path.rpartition("/")[2] for entry in self._home.list(SEGMENTS))
        for span in following(there, self._number):
            try:
                data = self._home.read(f"{SEGMENTS}/{span.name}")
            except NotFound:  # it was merged since; the next look finds what stands for it
                return
            for piece in decode(data, span.name):
                self._apply(piece, span.name)
            self._number = span.last
            self._files.write(MIRRORED_FILE, documents.encode(Mirrored(span.last)))

    def _apply(self, piece: Piece, segment: str) -> None:
        if piece.offset is None:
            self._files.write(piece.path, piece.data)
        else:
            _grow(self._folder / piece.path, piece.offset, piece.data, segment)


def _grow(path: Path, offset: int, data: bytes, segment: str) -> None:
    """Appends what of `data`, which begins at `offset`, is not there yet; on disk when it returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size < offset:
            hint = "Records of the run before that are lost; the job itself goes on, and its checkpoint is not concerned."
            raise Corrupt("segments.damaged", f"Segment {segment} goes on at byte {offset:,} of {path.name}, which has {size:,}", hint)
        new = memoryview(data)[size - offset :]
        while new:
            written = os.pwrite(descriptor, new, size)
            new, size = new[written:], size + written
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
