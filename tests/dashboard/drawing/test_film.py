"""The film strip: frames in time, what changed between them, thin frames where they belong."""

from __future__ import annotations

from dataclasses import replace

from dashboard.drawing.film import Frame, Stretch, film, thin_frames
from dashboard.drawing.retention import Axis
from pipelines.domain.ids import RunId, VersionId
from pipelines.domain.savepoints import NOT_BEGUN, RetainedBatch, Savepoint
from tests import samples
from tests.faces import QUERY

KEPT = [
    RetainedBatch(QUERY, batch, 1_000 * batch, watermark, 1_000 * batch + 700)
    for batch, watermark in ((3, 0), (4, 500), (5, 500), (6, 900))
]


def taken(name: str, batch: int, *, size: int = 2_000_000, version: str = "v-1") -> Savepoint:
    made = samples.savepoint(name, "a", version=VersionId(version), run=RunId("r-1"), batch=batch)
    image = replace(made.queries[0], batch_timestamp_ms=1_000 * batch, watermark_ms=100 * batch)
    return replace(made, queries=(image,), bytes=size)


def shapes(pieces: tuple[Frame | Stretch, ...]) -> list[object]:
    return [p.newest.id if isinstance(p, Frame) else [shot.batch.batch for shot in p.thin] for p in pieces]


def test_thin_frames_stand_between_the_savepoints_in_time() -> None:
    assert shapes(film([taken("sp-2", 5), taken("sp-1", 2)], KEPT)) == ["sp-1", [3, 4, 5], "sp-2", [6]]
    assert shapes(film([], KEPT)) == [[3, 4, 5, 6]]
    assert shapes(film([taken("sp-1", 2)], [])) == ["sp-1"]


def test_savepoints_of_one_batch_are_one_frame_that_counts_them() -> None:
    frame = next(piece for piece in film([taken("sp-2", 5), taken("sp-1", 5)], []) if isinstance(piece, Frame))
    assert [savepoint.id for savepoint in frame.savepoints] == ["sp-2", "sp-1"]


def test_between_two_frames_stands_what_changed() -> None:
    strip = film([taken("sp-2", 9, size=3_500_000, version="v-2"), taken("sp-1", 2)], [])
    assert strip[1] == Stretch(("+7 batches", "7.00 s", "+1.5 MB", "other code"), ())


def test_on_event_time_batches_of_one_watermark_are_one_thin_frame() -> None:
    assert [(shot.id, shot.words) for shot in thin_frames(KEPT, Axis.EVENT)] == [
        (f"{QUERY}:5", "batch 5, the newest of 4–5"),
        (f"{QUERY}:6", "batch 6"),
    ]


def test_a_savepoint_that_has_not_begun_has_no_frame() -> None:
    begun = taken("sp-1", 2)
    assert film([replace(begun, queries=(replace(begun.queries[0], batch=NOT_BEGUN),))], []) == ()
