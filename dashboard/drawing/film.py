"""A job's savepoints as a film strip: a frame each in time, between them what changed and the batches that Spark still keeps, as thin
frames. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dashboard.drawing.retention import PLACES, Axis, point_id
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import QueryImage, RetainedBatch, Savepoint
from pipelines.domain.space import SavepointSpace
from pipelines.words import formats
from pipelines.words.trust import best


@dataclass(frozen=True)
class ThinFrame:
    """Batches at one place that Spark still keeps: by the clock one, by event time all with one watermark; the newest is `batch`."""

    batch: RetainedBatch
    others: tuple[RetainedBatch, ...] = ()

    @property
    def id(self) -> str:
        return point_id(self.batch)

    @property
    def words(self) -> str:
        if not self.others:
            return f"batch {self.batch.batch:,}"
        numbers = sorted(retained.batch for retained in (self.batch, *self.others))
        return f"batch {self.batch.batch:,}, the newest of {formats.ranges(numbers)}"


@dataclass(frozen=True)
class Frame:
    """The savepoints at one place, newest first: they coincide, and are counted."""

    at_ms: int
    savepoints: tuple[Savepoint, ...]

    @property
    def newest(self) -> Savepoint:
        return self.savepoints[0]

    @property
    def trust(self) -> str:
        """The best level of trust that the newest reached, or that it is damaged."""
        return best(self.newest)


@dataclass(frozen=True)
class Stretch:
    """What lies before a frame (or after the last one): what changed from the frame before, and the thin frames."""

    changes: tuple[str, ...]
    thin: tuple[ThinFrame, ...]


Piece = Frame | Stretch


def film(taken: Sequence[Savepoint], kept: Sequence[RetainedBatch], axis: Axis = Axis.CLOCK) -> tuple[Piece, ...]:
    """The strip in time, oldest first; savepoints without a batch on that axis are left out."""
    shots = frames(taken, axis)
    thin = thin_frames(kept, axis)
    pieces: list[Piece] = []
    for before, shot in zip((None, *shots), shots, strict=False):
        pieces += _stretch(changes(before.newest, shot.newest) if before else (), _between(thin, axis, before, shot))
        pieces.append(shot)
    return (*pieces, *_stretch((), _between(thin, axis, shots[-1] if shots else None, None)))


def frames(taken: Sequence[Savepoint], axis: Axis) -> list[Frame]:
    """A frame for each place that has savepoints, oldest first; `taken` is newest first, and so are those of one frame."""
    begun = [savepoint for savepoint in taken if savepoint.queries and savepoint.queries[0].begun and moment(savepoint.queries[0], axis)]
    placed = sorted(begun, key=lambda savepoint: (moment(savepoint.queries[0], axis), savepoint.batch))
    together = groupby(placed, key=lambda savepoint: (moment(savepoint.queries[0], axis), savepoint.batch))
    return [Frame(at_ms, tuple(savepoints)) for (at_ms, _), savepoints in together]


def moment(image: QueryImage, axis: Axis) -> int:
    """The place of a savepoint's query on the axis."""
    return image.batch_timestamp_ms if axis is Axis.CLOCK else image.watermark_ms


def thin_frames(kept: Sequence[RetainedBatch], axis: Axis) -> list[ThinFrame]:
    """The retained batches in the order of the axis; on event time those of one watermark are one."""
    place = PLACES[axis]
    if axis is Axis.CLOCK:
        return [ThinFrame(retained) for retained in sorted(kept, key=lambda retained: (place(retained), retained.batch))]
    marked = sorted((retained for retained in kept if retained.watermark_ms > 0), key=lambda retained: (place(retained), retained.batch))
    groups = [list(group) for _, group in groupby(marked, key=place)]
    return [ThinFrame(group[-1], tuple(group[:-1])) for group in groups]


def changes(older: Savepoint, newer: Savepoint) -> tuple[str, ...]:
    """What changed between two savepoints of a job, in words: batches and time first."""
    return tuple(_changes(older, newer))


def _changes(older: Savepoint, newer: Savepoint) -> Iterator[str]:
    first, second = older.queries[0], newer.queries[0]
    yield _signed(newer.batch - older.batch, lambda number: formats.plural(int(number), "batch", "batches"))
    yield formats.duration(abs(second.batch_timestamp_ms - first.batch_timestamp_ms))
    if newer.bytes != older.bytes:
        yield _signed(newer.bytes - older.bytes, formats.size)
    if older.version != newer.version:
        yield "other code"
    if older.spark_version != newer.spark_version:
        yield f"Spark {older.spark_version} → {newer.spark_version}"
    if {image.query for image in older.queries} != {image.query for image in newer.queries}:
        yield "other queries"
    elif _kept_by(older) != _kept_by(newer):
        yield "other operators"
    if first.query_id != second.query_id:
        yield "other query id"


def _signed(number: int, shown: Callable[[float], str]) -> str:
    return f"{'+' if number >= 0 else '−'}{shown(abs(number))}"


def _kept_by(savepoint: Savepoint) -> Mapping[str, object]:
    return {image.query: image.operators for image in savepoint.queries}


def state_bytes(savepoint: Savepoint, spaces: Mapping[SavepointId, SavepointSpace]) -> int:
    """The size of a savepoint: measured, or as its manifest sums it up."""
    own = spaces.get(savepoint.id)
    return own.bytes if own else savepoint.bytes


def _between(thin: Sequence[ThinFrame], axis: Axis, before: Frame | None, after: Frame | None) -> tuple[ThinFrame, ...]:
    """The thin frames after one frame up to the next; that of a savepoint's own batch stands before it."""
    place = PLACES[axis]
    return tuple(
        shot
        for shot in thin
        if (before is None or place(shot.batch) > before.at_ms) and (after is None or place(shot.batch) <= after.at_ms)
    )


def _stretch(changed: tuple[str, ...], thin: tuple[ThinFrame, ...]) -> list[Piece]:
    return [Stretch(changed, thin)] if changed or thin else []
