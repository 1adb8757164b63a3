"""Verdicts: what will happen if this code starts on this state, said before it starts."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pipelines.domain.bounds import Count, Took
from pipelines.domain.errors import Incompatible, Refusal
from pipelines.domain.ids import SavepointId, VersionId


class Outcome(enum.StrEnum):
    """What becomes of state under other code; the worst counts for the whole."""

    SAME = "same"
    PARTLY_KEPT = "partly kept"
    CHANGED_MEANING = "changed meaning"
    CANNOT_TELL = "cannot tell"
    NEEDS_REWRITING = "needs rewriting"
    CANNOT_START = "cannot start"

    @property
    def starts(self) -> bool:
        """Whether it starts, as far as is known, once what is dropped of its state is accepted."""
        return self not in (Outcome.NEEDS_REWRITING, Outcome.CANNOT_START)


_ORDER = tuple(Outcome)


@dataclass(frozen=True)
class Part:
    """The verdict on one operator of a query, or on the query itself."""

    query: str
    operator: Count | None
    """Spark's id, None for the query itself."""
    name: str
    """Spark's name of the operator, empty for the query itself."""
    outcome: Outcome
    reasons: tuple[str, ...]
    hint: str = ""
    dropped: tuple[str, ...] = ()
    """Names of what is dropped of the state (`counts`, `counts.0`, `counts.0.last`): a query, an operator, a state variable."""
    empty: tuple[str, ...] = ()
    """Names of the code's state variables that begin empty, where others are dropped: those may go on as these (`--map`)."""


@dataclass(frozen=True)
class Fact:
    """What an operator does, in words: `computes`, `sum(v)`. For people: it is never compared."""

    what: str
    text: str


@dataclass(frozen=True)
class OperatorPlan:
    """A stateful operator as one code has it."""

    operator: Count
    name: str
    """Spark's."""
    facts: tuple[Fact, ...] = ()
    columns: tuple[str, ...] = ()
    """What the last columns of an aggregation's state hold, in words: `sum(v) AS total`."""


@dataclass(frozen=True)
class OperatorPair:
    """An operator of the savepoint's code beside the one of the changed code that goes on with its state; one of them alone is dropped, or
    begins empty."""

    query: str
    before: OperatorPlan | None
    after: OperatorPlan | None
    is_unclear: bool = False
    """Whether the one that stands alone may belong to another that does: nobody has said which."""


@dataclass(frozen=True)
class Verdict:
    """What becomes of a savepoint's state under a version."""

    savepoint: SavepointId
    version: VersionId
    outcome: Outcome
    parts: tuple[Part, ...]
    varies: tuple[str, ...] = ()
    """What depends on the clock or on chance: a replay of it differs by itself."""
    spark_version: str = ""
    """The Spark that planned it, empty where nothing had to be planned."""
    took_ms: Took = 0.0
    operators: tuple[OperatorPair, ...] = ()
    """The plans of both codes, operator by operator; none where nothing had to be planned."""
    told: Mapping[str, str] = field(default_factory=dict)
    """Names of operators, and of state variables, before -> now, as the user said (`--map`)."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """What of the state has to be accepted as dropped, by name."""
        return tuple(name for part in self.parts for name in part.dropped)


DROPS, ACCEPT = "code.drops", "Accept it by its name: "


def drops(names: Iterable[str]) -> Incompatible:
    """The error of state that would be dropped, and nobody has accepted that."""
    every = sorted(names)
    flags = " ".join(f"--drop {name}" for name in every)
    return Incompatible(DROPS, f"The code drops a part of the state: {', '.join(every)}", f"{ACCEPT}{flags}.")


def drops_elsewhere(error: Refusal) -> Refusal:
    """The refusal of a verb that has no `--drop`: of state that would be dropped it says which verb has one."""
    if error.code != DROPS:
        return error
    flags = error.hint.removeprefix(ACCEPT).removesuffix(".")
    return replace(error, hint=f"Fork the savepoint with this code, where that can be accepted: fork SAVEPOINT --code FILE {flags}.")


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    return max(outcomes, key=_ORDER.index, default=Outcome.SAME)


def of(savepoint: SavepointId, version: VersionId, parts: tuple[Part, ...], varies: tuple[str, ...] = ()) -> Verdict:
    """The verdict that the parts add up to."""
    return Verdict(savepoint, version, worst(part.outcome for part in parts), parts, varies)


UNCHANGED = "The code, its arguments and its confs are those that the savepoint was taken of, and so is all that they stand on."


def unchanged(savepoint: SavepointId, version: VersionId, queries: Iterable[str]) -> Verdict:
    """The verdict on a savepoint's own version, which needs no planning."""
    return of(savepoint, version, tuple(Part(query, None, "", Outcome.SAME, (UNCHANGED,)) for query in queries))
