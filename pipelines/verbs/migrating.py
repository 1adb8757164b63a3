"""What is done with state for changed code, before it goes on with it. Everything that begins a run on a copy of state can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import option

MIGRATE = (
    "Rewrite its state for the changed code before the job begins: by columns, or by a function that makes the new rows of the old ones. "
    "Operators that are new begin empty, those in another place are moved; so are the offsets of sources that are in another place or have "
    "another name, and new sources are read from their beginning."
)
DROP = (
    "Drop the state of an operator (QUERY.NUMBER), a state variable or a query, or the offset of a source (QUERY.sources.NAME), by its "
    "name as the verdict says it; what the changed code drops has to be accepted so. May be given again."
)
MAP = (
    "Which operator goes on with which state, where the plans do not tell: the number before and now. Or a state variable that has another "
    "name now (QUERY.NUMBER.OLD=QUERY.NUMBER.NEW), or which source goes on at which offset (QUERY.sources.OLD=QUERY.sources.NEW, a name or "
    "a place). May be given again."
)
CHECK = (
    "Have changed code checked against the state first, where nobody has done that: what cannot start on it, or drops what was not "
    "accepted, does not begin, and a verdict other than same is said."
)


@dataclass(frozen=True, kw_only=True)
class Migrating:
    """What is done with state for changed code. `migrate` is a function's name with the text of its file, or `columns` with
    nothing; `map` names operators, or state variables, before and now."""

    migrate: Mapping[str, str] | None = option(MIGRATE, None, metavar="columns|FILE:function", reads=Reads.FUNCTION)
    drop: tuple[str, ...] = option(DROP, (), flag="--drop", metavar="NAME")
    map: Mapping[str, str] | None = option(MAP, None, flag="--map", metavar="OLD=NEW", reads=Reads.PAIRS)
    check: bool = option(CHECK, True, flag="--check/--no-check")

    @property
    def is_migrated(self) -> bool:
        """Whether anything is done with the state."""
        return self.migrate is not None or bool(self.drop) or bool(self.map)
