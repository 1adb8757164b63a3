"""What of a savepoint's state could go on as what of the code, where that is the user's to say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipelines.domain.operator_places import VARIABLE, name_of
from pipelines.domain.verdicts import OperatorPair, Verdict


def choices(verdict: Verdict) -> Mapping[str, tuple[str, ...]]:
    """Operators and state variables of a savepoint that nothing of the code goes on with, or only because the verdict was told so, by
    name -> those of the code that could, by name."""
    return {**_operator_choices(tuple(_untold(verdict))), **_variable_choices(verdict)}


def _untold(verdict: Verdict) -> Iterator[OperatorPair]:
    """The pairs of a verdict, those apart that the user put together."""
    for pair in verdict.operators:
        before, after = pair.before, pair.after
        told = before is not None and verdict.told.get(name_of(pair.query, before.operator))
        if before is None or after is None or told != name_of(pair.query, after.operator):
            yield pair
        else:
            yield from (replace(pair, after=None), replace(pair, before=None))


def _variable_choices(verdict: Verdict) -> Mapping[str, tuple[str, ...]]:
    pairs = [(pair.query, pair.before, pair.after) for pair in verdict.operators]
    goes_on = {name_of(query, old.operator): name_of(query, new.operator) for query, old, new in pairs if old and new}
    told = {old: new for old, new in verdict.told.items() if VARIABLE.fullmatch(old)}
    empty = (*told.values(), *(name for part in verdict.parts for name in part.empty))
    gone = (*told, *(name for name in verdict.dropped if VARIABLE.fullmatch(name)))
    fitting = {name: tuple(new for new in empty if _operator_of(new) == goes_on.get(_operator_of(name))) for name in gone}
    return {name: names for name, names in fitting.items() if names}


def _operator_of(variable: str) -> str:
    return variable.rpartition(".")[0]


def _operator_choices(every: Sequence[OperatorPair]) -> Mapping[str, tuple[str, ...]]:
    olds = [(pair.query, pair.before) for pair in every if pair.before is not None and pair.after is None]
    news = [(pair.query, pair.after) for pair in every if pair.after is not None and pair.before is None]
    fitting = {
        name_of(query, old.operator): tuple(name_of(of, new.operator) for of, new in news if (of, new.name) == (query, old.name))
        for query, old in olds
    }
    return {name: names for name, names in fitting.items() if names}
