"""Which source of new code goes on from the offset of which source of a savepoint. Spark goes by the place alone, or by names.

A source is called by its name where the code gave it one (`readStream.name`), else by its place in the plan: `0`, `1`. The order in which
they are matched: (1) as the user says; (2) by name; (3) at the same place, if it is read as before; (4) by all that is read, then by kind
and what is read, where no other is like it on either side; (5) at the same place, if all are of the same kinds. What is left of the same
kind and what is read is ambiguous, else it is dropped or new.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pipelines.domain.errors import Invalid
from pipelines.domain.operator_places import SOURCE, alone, unpaired
from pipelines.domain.plannings import PlannedQuery, PlannedSource
from pipelines.domain.savepoints import QueryImage

FILES = {"parquet", "json", "csv", "text", "orc", "xml", "avro"}
"""Spark's kinds of sources of files: one keeps to the folder of the files that it has read."""
Sources = Mapping[str, PlannedSource]
"""What a source is called -> the source, in the order of the plan."""


@dataclass(frozen=True)
class SourcePlacement:
    """One source whose offset is moved (both), dropped (nothing after) or that begins anew (nothing before)."""

    query: str
    before: str | None
    after: str | None
    kind: str
    """Spark's (`json`, `kafka`)."""


@dataclass(frozen=True)
class SourcePlaces:
    """Where the offsets of a query's sources go."""

    pairs: Mapping[str, str] = field(default_factory=dict)
    """What it is called in the new code -> in the savepoint."""
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    ambiguous: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Those before and now that could be each other's."""
    is_named: bool = False
    """Whether Spark finds all of them by name, before and now."""

    @property
    def moved(self) -> Mapping[str, str]:
        """Those of `pairs` that are called otherwise now."""
        return {new: old for new, old in self.pairs.items() if new != old}

    @property
    def are_rewritten(self) -> bool:
        """Whether Spark would not find the offsets as they are."""
        return bool(self.moved) or (not self.is_named and bool(self.dropped or self.added)) or any(self.ambiguous)


def name_of(query: str, source: str) -> str:
    """What a source is called where it is accepted or told: `counts.sources.0`."""
    return f"{query}.sources.{source}"


def before(image: QueryImage, planned: PlannedQuery | None) -> Sources:
    """The sources of a savepoint's query; of one whose code could not be planned what was noted of them."""
    sources = planned.sources if planned is not None else ()
    if all(offset.source.isdecimal() for offset in image.offsets):
        noted = {str(at): PlannedSource(kind, "", "") for at, kind in enumerate(image.sources)}
        known = noted | {str(at): source for at, source in enumerate(sources) if len(sources) == len(image.offsets)}
    else:
        known = {source.name: source for source in sources}
    return {offset.source: known.get(offset.source, PlannedSource("", "", "")) for offset in image.offsets}


def now(planned: PlannedQuery) -> Sources:
    """The sources of the new code."""
    return {source.name or str(at): source for at, source in enumerate(planned.sources)}


def place(query: str, old: Sources, new: Sources, drop: Collection[str] = (), told: Mapping[str, str] | None = None) -> SourcePlaces:
    """Matches what the savepoint has offsets of with what the code reads. `drop` and `told` (before -> now) are names as the user gives
    them. Raises Invalid (`map.source`) for a source that is not there."""
    told_pairs = dict(_told(query, old, new, told or {}))
    pairs = dict(told_pairs)
    kept = [source for source in old if name_of(query, source) not in drop]

    def match(key: Callable[[str, PlannedSource], object]) -> None:
        pairs.update(alone(*unpaired(kept, new, pairs), lambda source: key(source, old[source]), lambda source: key(source, new[source])))

    is_named = not any(map(str.isdecimal, old)) and not any(map(str.isdecimal, new))
    if is_named:
        match(lambda name, _: name)
    match(lambda name, source: (name, source.digest) if source.digest else None)
    match(lambda _, source: source.digest or None)
    match(lambda name, source: (name, *_reads(source)) if source.place else None)
    match(lambda _, source: _reads(source) if source.place else None)
    if not is_named and len(kept) == len(new) and not told_pairs:
        free = set(unpaired(kept, new, pairs)[0])
        pairs |= {at: at for at in new if at in free and at not in pairs and _goes_on(old[at], new[at])}
    before, after = unpaired(kept, new, pairs)
    unclear = [source for source in before if any(_alike(old[source], new[at]) for at in after)]
    unclear_now = [at for at in after if any(_alike(old[source], new[at]) for source in before)]
    gone = tuple(source for source in old if source not in pairs.values() and source not in unclear)
    begun = tuple(source for source in after if source not in unclear_now)
    return SourcePlaces(pairs, gone, begun, (tuple(unclear), tuple(unclear_now)), is_named)


def placements(query: str, old: Sources, new: Sources, places: SourcePlaces) -> Iterator[SourcePlacement]:
    """What is done with each source, in words of names."""
    yield from (SourcePlacement(query, source, None, old[source].kind) for source in places.dropped)
    yield from (SourcePlacement(query, before, after, new[after].kind) for after, before in places.moved.items())
    yield from (SourcePlacement(query, None, source, new[source].kind) for source in places.added)


def _told(query: str, old: Sources, new: Sources, told: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is said of the query's sources: now, before."""
    for left, right in told.items():
        before, after = SOURCE.fullmatch(left), SOURCE.fullmatch(right)
        if (before or after) is None or query not in {match[1] for match in (before, after) if match}:
            continue
        if before is None or after is None or before[1] != after[1] or before[2] not in old or after[2] not in new:
            message = f"{left} cannot go on as {right}: the one is no source of the savepoint, or the other none of the code"
            raise Invalid("map.source", message, f"Before: {_all(query, old)}. Now: {_all(query, new)}.")
        yield after[2], before[2]


def _all(query: str, sources: Iterable[str]) -> str:
    return ", ".join(name_of(query, source) for source in sources) or "none"


def _reads(source: PlannedSource) -> tuple[str, str]:
    return source.kind.lower(), source.place


def _alike(old: PlannedSource, new: PlannedSource) -> bool:
    """Whether they may be the same; of one whose code could not be planned, little is known."""
    return old.kind.lower() in ("", new.kind.lower()) and (not old.digest or old.place == new.place)


def _goes_on(old: PlannedSource, new: PlannedSource) -> bool:
    """Whether the one, at the same place, starts at the offset of the other."""
    is_of_files = new.kind.lower() in FILES and bool(old.digest)
    return old.kind.lower() in ("", new.kind.lower()) and (not is_of_files or old.place == new.place)
