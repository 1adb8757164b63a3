"""Which operator of new code goes on with the state of which operator of a savepoint. Spark goes by the number alone: from the sink down.

The order in which they are matched: (1) as the user says; (2) by the name that the code gives it (`df.alias`), of its kind the only one
called so; (3) by all that is computed up to there, which is the same wherever the operator stands; (4) by its number, where all are of the
same kinds in the same order, and no other is of its kind; (5) by kind and columns, then by kind and key, where no other is like it on
either side. What is left is ambiguous where it could be matched, else it is dropped or new.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pipelines.domain import contracts
from pipelines.domain.bounds import Count
from pipelines.domain.contracts import Contract, Keeps
from pipelines.domain.conversions import CONVERTED
from pipelines.domain.errors import Invalid
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.savepoints import QueryImage

LIMIT = "globalLimit"
VARIABLES = {
    "transformWithStateInPySparkExec": "`transformWithState`",
    "transformWithStateInPandasExec": "`transformWithStateInPandas`",
}
"""Those that keep state variables."""
PLACED = {**CONVERTED, **VARIABLES, LIMIT: "limit"}
"""Spark's names of the operators whose outputs were measured to be equal after they moved or began empty -> what they are."""
Name = TypeVar("Name")
SOURCE = re.compile(r"(.+)\.sources\.([^.]+)")
"""What a source is called where it is accepted or told: `counts.sources.0`; by its name where it has one."""
VARIABLE = re.compile(r"(.+\.[0-9]+)\.([^.]*[^.0-9][^.]*)")
"""The name of a state variable: that of its operator, then its own, which is no number."""
NAME = "An operator is named by its query and its number, as the verdict names it: counts.0"


@dataclass(frozen=True)
class Placement:
    """One operator whose state is moved (both numbers), dropped (no number after) or begins empty (none before)."""

    query: str
    before: Count | None
    after: Count | None
    name: str
    """Spark's."""


@dataclass(frozen=True)
class Places:
    """Where the state of a query's operators goes."""

    pairs: Mapping[int, int] = field(default_factory=dict)
    """Number in the new code -> number in the savepoint."""
    dropped: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    ambiguous: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """Numbers before and now that could be each other's."""

    @property
    def stay(self) -> bool:
        """Whether all are where they were."""
        return not self.dropped and not self.added and not any(self.ambiguous) and all(old == new for new, old in self.pairs.items())


def name_of(query: str, operator: int) -> str:
    """What an operator is called: `counts.0`."""
    return f"{query}.{operator}"


def variable_name(query: str, operator: int, variable: str) -> str:
    """What a state variable is called: `counts.0.last`."""
    return f"{name_of(query, operator)}.{variable}"


def check_told(images: Iterable[QueryImage], told: Mapping[str, str]) -> None:
    """Raises Invalid (`map.operator`) for what is told of a query, an operator, or a variable of one, that the savepoint does not have;
    whether a query has the source is asked where its sources are known (`source_places`)."""
    operators = {str(image.query): {operator.id for operator in image.operators} for image in images}
    for name in told:
        source, variable = SOURCE.fullmatch(name), VARIABLE.fullmatch(name)
        query, number = (source[1], None) if source else _numbered(variable[1] if variable else name)
        if query not in operators:
            message = f"The savepoint has no query {query!r}, of which {name} is told (--map)"
            raise Invalid("map.operator", message, f"It has {', '.join(sorted(operators)) or 'none'}.")
        if number is not None and number not in operators[query]:
            has = ", ".join(name_of(query, operator) for operator in sorted(operators[query])) or "none"
            raise Invalid("map.operator", f"The savepoint has no operator {name_of(query, number)} (--map)", f"It has {has}.")


def mapped(query: str, told: Mapping[str, str]) -> Mapping[int, int]:
    """What is said of the operators of `query`, by their numbers before; raises Invalid (`map.operator`)."""
    others = (SOURCE, VARIABLE)
    of_operators = (
        (old, new) for old, new in told.items() if not any(pattern.fullmatch(old) and pattern.fullmatch(new) for pattern in others)
    )
    pairs = [(_numbered(old), _numbered(new)) for old, new in of_operators]
    for (before, _), (after, _) in pairs:
        if before != after:
            raise Invalid("map.operator", f"An operator of {before} cannot go on as one of {after}", "Both are of one query.")
    return {old: new for (before, old), (_, new) in pairs if before == query}


def renamed(query: str, told: Mapping[str, str], before: int, after: int, kept: Keeps, keeps: Keeps) -> Mapping[str, str]:
    """What is said of the state variables of an operator of `query`, which had the number `before`: their names before -> now. Raises
    Invalid (`map.operator`) for a variable that is not there."""
    pairs = [(VARIABLE.fullmatch(old), VARIABLE.fullmatch(new)) for old, new in told.items()]
    own = [(old, new) for old, new in pairs if old and new and old[1] == name_of(query, before)]
    for old, new in own:
        if new[1] != name_of(query, after) or old[2] not in kept.variables or new[2] not in keeps.variables:
            message = f"{old[0]} cannot go on as {new[0]}: no such state variable goes on with that operator's state"
            raise Invalid("map.operator", message, f"Before: {', '.join(kept.variables)}. Now: {', '.join(keeps.variables)}.")
    if len({new[2] for _, new in own}) < len(own):
        raise Invalid("map.operator", f"More than one state variable of {name_of(query, before)} is to go on as one", "Drop the others.")
    return {old[2]: new[2] for old, new in own}


def _numbered(name: str) -> tuple[str, int]:
    query, _, number = name.rpartition(".")
    if not query or not number.isascii() or not number.isdigit():
        raise Invalid("map.operator", f"{name!r} is no operator", f"{NAME}.")
    return query, int(number)


def place(
    kept: Contract,
    new: Contract,
    then: Mapping[int, PlannedOperator],
    now: Mapping[int, PlannedOperator],
    dropped: Collection[int] = (),
    told: Mapping[int, int] | None = None,
    *,
    by_number: bool = False,
) -> Places:
    """Matches `kept`, what the savepoint holds, with `new`, what the code keeps. `then` and `now` are what was planned of both codes,
    `then` empty where that says nothing; `dropped` are to be dropped, `told` (before -> now) is what the user says. `by_number`: as
    Spark takes them where all are of the same kinds in the same order, however alike they are.

    Raises Invalid (`map.operator`) for what is told of operators that are not there, or are of another kind."""
    pairs = dict(_told(kept, new, dropped, told or {}))
    old = [operator for operator in kept if operator not in dropped]

    def free() -> tuple[list[int], list[int]]:
        return unpaired(old, new, pairs)

    called = [{operator: (planned.name, planned.alias) for operator, planned in of.items() if planned.alias} for of in (then, now)]
    pairs |= alone(*free(), called[0].get, called[1].get)
    same = {operator: planned.digest for operator, planned in then.items()}, {operator: planned.digest for operator, planned in now.items()}
    pairs |= alone(*free(), lambda before: same[0].get(before), lambda after: same[1].get(after))
    if [kept[operator].name for operator in sorted(old)] == [new[operator].name for operator in sorted(new)] and not dropped:
        before, after = free()
        kinds = [[of[operator].name for operator in operators] for of, operators in ((kept, before), (new, after))]
        fits = {
            operator
            for operator in after
            if operator in before and by_number and contracts.types(kept[operator]) == contracts.types(new[operator])
        }
        pairs |= {
            operator: operator
            for operator in after
            if operator in before and (operator in fits or all(of.count(new[operator].name) == 1 for of in kinds))
        }
    pairs |= alone(*free(), lambda operator: contracts.types(kept[operator]), lambda operator: contracts.types(new[operator]))
    pairs |= alone(*free(), lambda operator: contracts.keys(kept[operator]), lambda operator: contracts.keys(new[operator]))
    before, after = free()
    keys = [[contracts.keys(of[operator]) for operator in operators] for of, operators in ((kept, before), (new, after))]
    unclear = (
        tuple(operator for operator in before if contracts.keys(kept[operator]) in keys[1]),
        tuple(operator for operator in after if contracts.keys(new[operator]) in keys[0]),
    )
    gone = {operator for operator in (*dropped, *before) if operator in kept and operator not in unclear[0]}
    return Places(pairs, tuple(sorted(gone)), tuple(operator for operator in after if operator not in unclear[1]), unclear)


def placements(query: str, kept: Contract, new: Contract, places: Places) -> Iterator[Placement]:
    """What does not stay where it was."""
    yield from (Placement(query, old, at, new[at].name) for at, old in sorted(places.pairs.items()) if old != at)
    yield from (Placement(query, old, None, kept[old].name) for old in places.dropped)
    yield from (Placement(query, None, at, new[at].name) for at in places.added)


def _told(kept: Contract, new: Contract, dropped: Collection[int], told: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    for old, at in told.items():
        if list(told.values()).count(at) > 1:
            raise Invalid("map.operator", f"More than one operator is to go on as operator {at}", "Drop the state of the others (--drop).")
        if old not in kept or at not in new or old in dropped:
            missing = f"{old}, which the savepoint does not hold or which is dropped" if old not in kept or old in dropped else f"{at}"
            raise Invalid("map.operator", f"There is no operator {missing}: --map {old}={at}", f"{NAME}.")
        if kept[old].name != new[at].name:
            message = f"Operator {old} is a {kept[old].name}, and operator {at} of the new code is a {new[at].name}"
            raise Invalid("map.operator", message, "State goes on as that of an operator of its own kind.")
        yield at, old


def unpaired(old: Iterable[Name], new: Iterable[Name], pairs: Mapping[Name, Name]) -> tuple[list[Name], list[Name]]:
    """Those before and now that `pairs` (now -> before) do not have."""
    return [name for name in old if name not in pairs.values()], [name for name in new if name not in pairs]


def alone(
    before: Iterable[Name], after: Iterable[Name], then: Callable[[Name], object], now: Callable[[Name], object]
) -> Iterator[tuple[Name, Name]]:
    """Pairs (now, before) of those that are alike, and like no other."""
    olds, news = list(before), list(after)
    for at in news:
        alike = [old for old in olds if then(old) == now(at) and now(at) is not None]
        if len(alike) == 1 and [new for new in news if now(new) == now(at)] == [at]:
            yield at, alike[0]
