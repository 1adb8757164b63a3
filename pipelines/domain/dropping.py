"""What is dropped of a savepoint's state by its name (`--drop`): that it is there, and that the code does not go on with it.

Names are those of verdicts: of a query (`counts`), an operator (`counts.0`), a state variable (`counts.0.last`), a source
(`counts.sources.0`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pipelines.domain import operator_places, source_places
from pipelines.domain.errors import Invalid
from pipelines.domain.operator_places import VARIABLE
from pipelines.domain.rewrites import OperatorKey
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.verdicts import Outcome, Verdict

ALL_STAYS = "Leave --drop out: nothing of it can be dropped."


def names(images: Iterable[QueryImage], variables: Mapping[OperatorKey, Collection[str]]) -> Iterator[str]:
    """What a savepoint holds, by name. `variables` has the names of each operator's state variables."""
    for image in images:
        yield str(image.query)
        for operator in image.operators:
            yield operator_places.name_of(image.query, operator.id)
            own = variables.get((image.query, operator.id), ())
            yield from (operator_places.variable_name(image.query, operator.id, name) for name in own)
        yield from (source_places.name_of(image.query, offset.source) for offset in image.offsets)


def check(held: Collection[str], drop: Iterable[str]) -> None:
    """Raises Invalid (`drop.unknown`) for what is to be dropped and is not among the names of what the savepoint holds."""
    unknown = [name for name in drop if name not in held]
    if unknown:
        raise Invalid("drop.unknown", f"The savepoint has no {' and no '.join(unknown)} that could be dropped (--drop)", _can(held))


def kept(idle: Iterable[str], droppable: Iterable[str]) -> Invalid:
    """The error of what is to be dropped, and the code goes on with it."""
    return Invalid("drop.kept", f"{', '.join(sorted(idle))} is not dropped by this code", _can(droppable))


def idle(drop: Sequence[str], verdict: Verdict) -> tuple[str, ...]:
    """What of `drop` the code goes on with, or goes with something else that is dropped, as far as the verdict shows: an operator that the
    code keeps can be dropped, a query cannot."""
    if verdict.outcome is Outcome.CANNOT_START or any(
        part.outcome is Outcome.CANNOT_TELL for part in verdict.parts if part.operator is None
    ):
        return ()
    queries = {part.query for part in verdict.parts}
    gone = {*verdict.dropped, *(name for name in drop if name not in queries)}
    return tuple(name for name in drop if (name in queries and name not in verdict.dropped) or _goes_with(name, queries & gone, gone))


def droppable(verdict: Verdict) -> tuple[str, ...]:
    """What can be dropped, as far as the verdict shows."""
    operators = (operator_places.name_of(pair.query, pair.before.operator) for pair in verdict.operators if pair.before is not None)
    return tuple(dict.fromkeys((*verdict.dropped, *operators)))


def _goes_with(name: str, queries: Collection[str], gone: Collection[str]) -> bool:
    """Whether a name is of a query that is dropped whole, or of an operator that is."""
    variable = VARIABLE.fullmatch(name)
    return (variable is not None and variable[1] in gone) or any(name.startswith(f"{query}.") for query in queries)


def _can(droppable: Iterable[str]) -> str:
    known = ", ".join(sorted(droppable))
    return f"What can be dropped: {known}." if known else ALL_STAYS
