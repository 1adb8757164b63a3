"""Carries what a run's driver writes to segments at the job's home, brings the orders that lie there, lets go of what the server has."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.domain.runs import QUERIES_FILE
from pipelines.domain.segments import GROWING, ORDERS_FILE, SEGMENTS, Orders, Piece, Span, encode, grows, is_carried, is_last, to_merge
from pipelines.driver.afar import fronts
from pipelines.driver.lease_file import as_os_error
from pipelines.driver.records import replace_whole, say
from pipelines.hadoop.paths import Place

EVERY_S = 1.0
PIECE_BYTES = 4 * 2**20
"""At most so much of a file is carried in one segment."""
FREED = tuple(path for path in GROWING if path != QUERIES_FILE)
"""Files of which the front goes; the driver reads its queries again."""
LAST_TRIES_S = 120.0
"""How long a driver that has ended tries to say so to a home that does not answer."""


@dataclass
class _Carried:
    """What is at home of the files of one run."""

    segments: list[tuple[Span, int]] = field(default_factory=list)
    """With their bytes, in order."""
    pieces: dict[Span, list[tuple[str, int | None, int]]] = field(default_factory=dict)
    """Path, offset and length of what is in each."""
    ends: dict[str, int] = field(default_factory=dict)
    """How much of each file that grows."""
    marks: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Inode and time of each file that is replaced."""


class Carrier:
    """Looks into `folder` again and again, until it is closed. `gather` is called before each look."""

    def __init__(self, folder: Path, home: Place, gather: Callable[[], None]) -> None:
        self._folder = folder
        self._home = home
        self._gather = gather
        self._there = _Carried()
        self._unwritten: list[Piece] = []
        self._orders = Orders()
        self._over = threading.Event()
        self._troubled = False
        self._thread = threading.Thread(target=self._work, name="tidemark-carrier", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Returns when all is at home, the run's exit last; raises OSError where the home does not answer for `LAST_TRIES_S`."""
        self._over.set()
        self._thread.join()
        deadline = time.monotonic() + LAST_TRIES_S
        while True:
            try:
                with as_os_error():
                    self.carry()
                    self.carry(last=True)
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(EVERY_S)

    def _work(self) -> None:
        while not self._over.wait(EVERY_S):
            try:
                with as_os_error():
                    self.carry()
                    self._obey()
                self._troubled = False
            except OSError as error:
                if not self._troubled:
                    say(f"the job's home does not answer; what this run says stays here until it does: {error}")
                self._troubled = True

    def carry(self, *, last: bool = False) -> None:
        """Writes a segment of what is new until nothing is, then merges."""
        self._gather()
        self._write()
        while pieces := list(self._new(last=last)):
            self._unwritten = pieces
            self._write()
        while together := to_merge(self._there.segments):
            self._merge(together)

    def _new(self, *, last: bool) -> Iterator[Piece]:
        for path in sorted(self._folder.rglob("*"), key=lambda path: (is_last(path.name), path)):
            name = path.relative_to(self._folder).as_posix()
            if not is_carried(name) or (is_last(name) and not last):
                continue
            if grows(name):
                begin = self._there.ends.get(name, 0)
                if data := _part(path, begin, PIECE_BYTES):
                    yield Piece(name, begin, data)
            elif (mark := _mark(path)) != self._there.marks.get(name):
                self._there.marks[name] = mark
                yield Piece(name, None, path.read_bytes())

    def _write(self) -> None:
        """The next segment, if there is one. One that failed may be there all the same, and read: it is written as it was, until it is."""
        if not (pieces := self._unwritten):
            return
        number = self._there.segments[-1][0].last + 1 if self._there.segments else 1
        span, data = Span(number, number), encode(pieces)
        (self._home / SEGMENTS / span.name).write_bytes(data)
        self._unwritten = []
        self._there.segments.append((span, len(data)))
        self._there.pieces[span] = [(piece.path, piece.offset, len(piece.data)) for piece in pieces]
        for piece in pieces:
            if piece.offset is not None:
                self._there.ends[piece.path] = piece.offset + len(piece.data)

    def _merge(self, together: list[Span]) -> None:
        """One segment for several, first; then they go. What is replaced is there as it is now."""
        pieces: list[Piece] = []
        replaced: set[str] = set()
        for path, offset, length in (each for span in together for each in self._there.pieces[span]):
            if offset is not None:
                pieces.append(Piece(path, offset, _part(self._folder / path, offset, length)))
            elif path not in replaced and (self._folder / path).is_file():
                replaced.add(path)
                pieces.append(Piece(path, None, (self._folder / path).read_bytes()))
        whole, data = Span(together[0].first, together[-1].last), encode(pieces)
        (self._home / SEGMENTS / whole.name).write_bytes(data)
        at = next(at for at, (span, _) in enumerate(self._there.segments) if span == together[0])
        self._there.segments[at : at + len(together)] = [(whole, len(data))]
        self._there.pieces[whole] = [(piece.path, piece.offset, len(piece.data)) for piece in pieces]
        for span in together:
            del self._there.pieces[span]
            (self._home / SEGMENTS / span.name).unlink(missing_ok=True)

    def _obey(self) -> None:
        """Carries out orders that are new: files are put into the folder, where the driver looks for them; a stop is a signal to itself."""
        place = self._home / ORDERS_FILE
        if not place.exists():
            return
        orders = Orders.parsed(place.read_text())
        for name, text in (orders.files or {}).items():
            if (self._orders.files or {}).get(name) != text:
                replace_whole(self._folder / os.path.basename(name), text)
        if orders.stop and not self._orders.stop:
            os.kill(os.getpid(), signal.SIGTERM)
        self._let_go(orders.mirrored)
        self._orders = orders

    def _let_go(self, mirrored: int) -> None:
        """Segments up to number `mirrored` go, but for the last one of all, by which the next is numbered; then what they had goes from
        this machine's disk, too."""
        freed: dict[str, int] = {}
        while len(self._there.segments) > 1 and self._there.segments[0][0].last <= mirrored:
            span = self._there.segments[0][0]
            (self._home / SEGMENTS / span.name).unlink(missing_ok=True)
            del self._there.segments[0]
            freed |= {path: offset + length for path, offset, length in self._there.pieces.pop(span) if offset is not None}
        for path, end in freed.items():
            if path in FREED:
                fronts.free(self._folder / path, end)


def _part(path: Path, begin: int, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(most)


def _mark(path: Path) -> tuple[int, int]:
    seen = path.stat()
    return seen.st_ino, seen.st_mtime_ns
