"""Offsets of a restored copy's sources, moved for changed code that has them in other places, by other names, more of them or fewer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pipelines.domain import source_places
from pipelines.domain.errors import Unsupported
from pipelines.domain.plannings import NEW, OLD, Planning
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.source_places import SourcePlacement, Sources, name_of
from pipelines.savepoint import placed_sources


@dataclass(frozen=True)
class PlacedSources:
    """What becomes of one query's sources."""

    placements: tuple[SourcePlacement, ...]
    """None where Spark finds all of them as they are."""
    pairs: Mapping[str, str | None]
    """What each is called in the new code, in its order -> in the savepoint; None for one that is new."""

    @property
    def by_name(self) -> bool:
        """Whether the new code names its sources."""
        return not all(source.isdecimal() for source in self.pairs)

    @property
    def lost(self) -> tuple[str, ...]:
        """Names of what is dropped."""
        return tuple(
            name_of(placement.query, placement.before)
            for placement in self.placements
            if placement.before is not None and placement.after is None
        )


def decide(image: QueryImage, planning: Planning, drop: Collection[str], told: Mapping[str, str]) -> PlacedSources:
    """What becomes of a query's sources, by what the user drops and tells. Raises Invalid (`map.source`), Unsupported
    (`migrate.sources`) where it cannot be told which goes on as which."""
    after = planning.side(NEW).find(image.query)
    if after is None or after.failure is not None:
        return PlacedSources((), {})
    old, new = source_places.before(image, planning.side(OLD).find(image.query)), source_places.now(after)
    places = source_places.place(image.query, old, new, drop, told)
    _refuse_ambiguous(image.query, old, places.ambiguous)
    moves = tuple(source_places.placements(image.query, old, new, places)) if places.are_rewritten or places.dropped else ()
    return PlacedSources(moves, {source: places.pairs.get(source) for source in new})


def _refuse_ambiguous(query: str, old: Sources, ambiguous: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    before, after = ambiguous
    if before:
        olds = ", ".join(f"{name_of(query, source)} ({old[source].kind})" for source in before)
        message = (
            f"Which source goes on as which cannot be told: {olds} before, {', '.join(name_of(query, source) for source in after)} now"
        )
        hint = f"Say it (--map {name_of(query, before[0])}={name_of(query, after[0])}), or drop what is gone (--drop)."
        raise Unsupported("migrate.sources", message, hint)


def move(placed: PlacedSources, checkpoint: str) -> None:
    """Moves them in a query's restored checkpoint; raises Corrupt, Unsupported for entries that cannot be read."""
    if placed.placements:
        placed_sources.place(checkpoint, placed.pairs, by_name=placed.by_name)
