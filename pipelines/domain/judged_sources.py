"""The judge of sources: whether the offsets of a savepoint mean to changed code what they meant."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from pipelines.domain.plannings import PlannedQuery, PlannedSource
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.verdicts import Outcome, Part

OFFSETS = "Offsets are kept by place: keep the sources that were there in their order, or name them (readStream.name)."
FILES = {"parquet", "json", "csv", "text", "orc", "xml", "avro"}


def judged(image: QueryImage, before: PlannedQuery | None, after: PlannedQuery) -> Iterator[Part]:
    """What is wrong with the sources; nothing where they are those that they were."""
    named = [offset.source for offset in image.offsets if not offset.source.isdecimal()]
    if named:
        yield from _by_name(image, tuple(named), after)
        return
    if len(after.sources) != len(image.offsets):
        reason = f"The savepoint has offsets of {len(image.offsets)} sources, and the code reads {len(after.sources)}."
        yield _part(image, Outcome.CANNOT_START, reason, OFFSETS)
        return
    earlier = before.sources if before is not None else ()
    for at, (source, was) in enumerate(zip_longest(after.sources, earlier[: len(after.sources)])):
        yield from _compared(image, at, source, was, image.sources[at] if at < len(image.sources) else "")


def _by_name(image: QueryImage, named: tuple[str, ...], after: PlannedQuery) -> Iterator[Part]:
    names = [source.name for source in after.sources]
    if "" in names:
        yield _part(image, Outcome.CANNOT_START, "The savepoint's sources have names, and one of the code has none.", OFFSETS)
        return
    gone = [name for name in named if name not in names]
    if gone:
        yield _part(image, Outcome.PARTLY_KEPT, f"Sources that are not read any more: {', '.join(gone)}.", "")


def _compared(image: QueryImage, at: int, source: PlannedSource, was: PlannedSource | None, noted: str) -> Iterator[Part]:
    kind = noted or (was.kind if was is not None else "")
    if kind and kind.lower() != source.kind.lower():
        yield _part(image, Outcome.CANNOT_START, f"Source {at} was {kind} and is {source.kind}: its offset means nothing there.", OFFSETS)
    elif was is not None and was.digest != source.digest:
        moved = was.place != source.place
        what = (
            f"Source {at} read {was.place or was.kind} and reads {source.place or source.kind}"
            if moved
            else f"Source {at} has other options"
        )
        if moved and source.kind.lower() in FILES:
            yield _part(image, Outcome.CANNOT_START, f"{what}: Spark keeps to the folder of the files that it has read.", OFFSETS)
        else:
            yield _part(image, Outcome.CHANGED_MEANING, f"{what}: it goes on at the old offset.", "Look whether that is meant.")


def _part(image: QueryImage, outcome: Outcome, reason: str, hint: str) -> Part:
    return Part(image.query, None, "", outcome, (reason,), hint)
