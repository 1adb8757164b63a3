"""Segments: how the records of a run whose driver shares no disk with the server reach it, and its orders the driver.

A run's driver writes its folder as any driver does, and carries what is new in it to numbered objects at the job's home, each with pieces
of several files. One segment may stand for all of a range: so their number stays bounded, however long the run is. Each piece says where
in its file it belongs, so that a segment that is applied twice changes nothing. With its orders the server says how far it has them on its
disk: what is before, the driver lets go, so that neither its home nor its machine fills.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import RunId
from pipelines.domain.installed import INSTALLED_FILE
from pipelines.domain.job_places import place_of
from pipelines.domain.json_text import read_json
from pipelines.domain.log_levels import SET_FILE
from pipelines.domain.masters import CLUSTER_FILE
from pipelines.domain.plans import PLANS_FOLDER
from pipelines.domain.runs import EVENTS_FILE, EXIT_FILE, IDLE_FILE, LOG_FILE, PROGRESS_FILE, QUERIES_FILE

RUNS = "runs"
"""In a job's folder at a home: a folder a run."""
SEGMENTS = "segments"
ORDERS_FILE = "orders.json"
GROWING = (QUERIES_FILE, PROGRESS_FILE, IDLE_FILE, EVENTS_FILE, LOG_FILE)
"""Files of a run's folder that only ever grow."""
REPLACED = (INSTALLED_FILE, CLUSTER_FILE, SET_FILE, EXIT_FILE)
"""Those that are replaced as a whole, as is each in the folder of plans. Nothing else is carried: the server has documents there, too."""
MERGED = 50
"""So many neighbours of about one size become one segment."""
LARGEST_BYTES = 32 * 2**20
"""No segment that stands for several is larger."""
_DIGITS = 12


@dataclass(frozen=True)
class Piece:
    """What a file of the run's folder has from `offset` on; None for the whole of a file that is replaced."""

    path: str
    """Relative to the run's folder, with slashes."""
    offset: int | None
    data: bytes


@dataclass(frozen=True, order=True)
class Span:
    """The numbers that one segment stands for, both included; the first of a run is 1."""

    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.first:0{_DIGITS}}-{self.last:0{_DIGITS}}"


@dataclass(frozen=True)
class Orders:
    """What the driver is asked to do, as the server last wrote it."""

    stop: bool = False
    """To end at a batch boundary."""
    files: Mapping[str, str] | None = None
    """Name -> text of files that the driver finds in its run's folder."""
    mirrored: int = 0
    """The segments up to this number are in the run's folder on the server, on its disk: nobody needs them any more."""

    @property
    def text(self) -> str:
        return json.dumps({"stop": self.stop, "files": dict(self.files or {}), "mirrored": self.mirrored})

    @staticmethod
    def parsed(text: str) -> Orders:
        raw = read_json(text)
        return Orders(bool(raw["stop"]), dict(raw["files"]), int(raw.get("mirrored", 0)))


def folder(checkpoints: str, run: RunId) -> str:
    """The URL of what driver and server say to each other about `run`, whose checkpoints lie at a home."""
    return f"{place_of(checkpoints)}/{RUNS}/{run}"


def is_carried(path: str) -> bool:
    """Whether a driver may say something by the file of its run's folder at `path`."""
    place, _, name = path.rpartition("/")
    return path in GROWING or path in REPLACED or (place == PLANS_FOLDER and name.endswith(".json") and not name.startswith("."))


def grows(path: str) -> bool:
    return path in GROWING


def is_last(path: str) -> bool:
    """Whether nothing follows it: the reader writes it after all others."""
    return path == EXIT_FILE


def spans(names: Iterable[str]) -> list[Span]:
    """Those of segments; any other name is passed over."""
    segment_spans = []
    for name in names:
        first, _, last = name.partition("-")
        if len(name) == 2 * _DIGITS + 1 and first.isdigit() and last.isdigit():
            segment_spans.append(Span(int(first), int(last)))
    return sorted(segment_spans)


def following(there: Sequence[Span], applied: int) -> list[Span]:
    """The segments to read in turn after number `applied`, the widest of those that begin alike; it ends before a number that is missing,
    as one is while a listing is older than a merge."""
    ways: list[Span] = []
    while True:
        candidates = [span for span in there if span.first <= applied + 1 <= span.last]
        if not candidates:
            return ways
        ways.append(max(candidates, key=lambda span: span.last))
        applied = ways[-1].last


def to_merge(there: Sequence[tuple[Span, int]]) -> list[Span]:
    """Of segments with their sizes in bytes, in their order: the newest that should become one, because so many of about one width stand
    side by side; empty where none should."""
    for at in range(len(there) - MERGED, -1, -1):
        together = there[at : at + MERGED]
        widths = [span.last - span.first + 1 for span, _ in together]
        if max(widths) < MERGED * min(widths) and sum(size for _, size in together) <= LARGEST_BYTES:
            return [span for span, _ in together]
    return []


def encode(pieces: Sequence[Piece]) -> bytes:
    head = json.dumps([[piece.path, piece.offset, len(piece.data)] for piece in pieces]).encode()
    return zlib.compress(b"".join((head, b"\n", *(piece.data for piece in pieces))))


def decode(data: bytes, name: str) -> tuple[Piece, ...]:
    """Raises Corrupt (`segments.damaged`) for bytes that are no segment, and for a file that no driver carries."""
    try:
        head, _, body = zlib.decompress(data).partition(b"\n")
        return tuple(_pieces(read_json(head.decode()), body))
    except (zlib.error, ValueError, TypeError, AttributeError) as error:
        hint = "The driver's storage gave back something else than was written there; the run's own checkpoint is not concerned."
        raise Corrupt("segments.damaged", f"Segment {name} cannot be read: {error}", hint) from error


def _pieces(head: Sequence[Sequence[Any]], body: bytes) -> Iterable[Piece]:
    at = 0
    for path, offset, length in head:
        if not is_carried(path) or grows(path) != isinstance(offset, int) or not 0 <= length <= len(body) - at:
            raise ValueError(f"a piece of {path!r} is none that a driver carries")
        yield Piece(path, offset, body[at : at + length])
        at += length
