"""The judge of sources: whether the offsets of a savepoint mean to changed code what they meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipelines.domain import source_places
from pipelines.domain.plannings import PlannedQuery, PlannedSource
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.source_places import SourcePlaces, Sources, name_of
from pipelines.domain.verdicts import Outcome, Part

OFFSETS = "Give all sources names (readStream.name), or none."
MOVED = "Their offsets are moved there, and what is new is read from its beginning, with --migrate columns."
TELL_WHICH = "Say which goes on as which (--map {0}={1}), or drop what is gone (--drop {0})."


def judged(image: QueryImage, before: PlannedQuery | None, after: PlannedQuery, told: Mapping[str, str]) -> Iterator[Part]:
    """What is wrong with the sources; nothing where they are those that they were. `told` has names before -> now, as the user says.
    Raises Invalid (`map.source`)."""
    names = [source.name for source in after.sources]
    if any(names) and not all(names):
        yield _part(image, Outcome.CANNOT_START, "Some of the code's sources have names, and some have none.", OFFSETS)
        return
    old, new = source_places.before(image, before), source_places.now(after)
    places = source_places.place(image.query, old, new, told=told)
    yield from _placed(image, old, new, places)
    for now, was in places.pairs.items():
        yield from _compared(image, now, new[now], old[was])


def _placed(image: QueryImage, old: Sources, new: Sources, places: SourcePlaces) -> Iterator[Part]:
    query = image.query
    moved = tuple(f"Source {now} goes on at the offset of source {was}." for now, was in places.moved.items())
    begun = () if places.is_named else tuple(f"Source {now} ({_what(new[now])}) is new." for now in places.added)
    if moved or begun:
        yield Part(query, None, "", Outcome.NEEDS_REWRITING, (*moved, *begun), MOVED)
    before, after = places.ambiguous
    if before:
        olds, news = (", ".join(sources) for sources in places.ambiguous)
        reason = f"Of the savepoint's sources {olds} any may go on as {news}."
        yield _part(image, Outcome.NEEDS_REWRITING, reason, TELL_WHICH.format(name_of(query, before[0]), name_of(query, after[0])))
    for source in places.dropped:
        name = name_of(query, source)
        reason = f"Source {source} ({_what(old[source])}) is not read any more: its offset is dropped."
        yield Part(query, None, "", Outcome.PARTLY_KEPT, (reason,), f"Accept that with --drop {name}.", dropped=(name,))


def _compared(image: QueryImage, name: str, source: PlannedSource, was: PlannedSource) -> Iterator[Part]:
    if was.digest and was.digest != source.digest:
        moved = was.place != source.place
        what = (
            f"Source {name} read {was.place or was.kind} and reads {source.place or source.kind}"
            if moved
            else f"Source {name} has other options"
        )
        yield _part(image, Outcome.CHANGED_MEANING, f"{what}: it goes on at the old offset.", "Look whether that is meant.")


def _what(source: PlannedSource) -> str:
    """`json /events`."""
    return f"{source.kind} {source.place}".strip() or "of an unknown kind"


def _part(image: QueryImage, outcome: Outcome, reason: str, hint: str) -> Part:
    return Part(image.query, None, "", outcome, (reason,), hint)
