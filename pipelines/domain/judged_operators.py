"""The verdict on one operator with the state that it goes on with, wherever both stand: what that means then, or how it is rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pipelines.domain import (
    contracts,
    deduplications,
    joins,
    migrated_columns,
    migrations,
    operator_places,
    session_windows,
    state_variables,
)
from pipelines.domain.contracts import Keeps
from pipelines.domain.conversions import CONVERTED, IN_PANDAS, SESSIONS
from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import ByColumns
from pipelines.domain.operator_places import VARIABLES
from pipelines.domain.operators import JOIN
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.session_windows import Columns
from pipelines.domain.verdicts import Outcome, Part

MEANT = "Where that is meant, fork: what was kept so far stays in the state as it was computed before. Else begin anew, without the state."
REMAKE = "Or a function makes what it would be now of what was kept (--migrate FILE:function)."
REWRITE = (
    "Tidemark rewrites the columns of aggregations, sessions, joins, deduplications, applyInPandasWithState and state variables alone. "
    "Keep this operator as it was, and compute what is new in a query of its own (--new-query)."
)
ANEW = f"{REWRITE} Or drop its state, so that it begins empty: --drop {{}}."
MIGRATE = "Fork it with --migrate FILE:function: a function makes its new rows of the old ones, before the job begins."
COLUMNS = "Its state can be rewritten for a fork, with --migrate columns"
RENAMED = "A state variable that was renamed goes on with --map QUERY.NUMBER.OLD=QUERY.NUMBER.NEW."
IN_ORDER = (
    "Have its columns in the order that they had (select). Or fork twice: with the columns alone in another order, rewritten by "
    "--migrate columns, and from a savepoint of that one with the rest."
)
BY_PLACES = "Spark reads the columns of state by their places, and what stands there is another now."
ACCEPT = "Accept it by its name, with --drop."
ALIKE = "What is computed up to here is the same."
WRITTEN = "What its lines say otherwise is what it puts out, or how that is written: none of it is kept as state."
LOOK = "It may well be the same; nothing here proves it. Compare its output with the parent's in an experiment."


@dataclass(frozen=True)
class Pair:
    """An operator of the new code, and the state that it goes on with."""

    query: str
    before: int
    """Its number in the savepoint."""
    after: int
    kept: Keeps
    keeps: Keeps
    then: PlannedOperator | None
    now: PlannedOperator
    is_explained: bool
    """Whether the code before keeps what the savepoint holds."""
    is_avro: bool = False
    """Whether the state is kept in Avro: then Spark reads other columns of state variables by itself."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """State variables that the user says have another name now: before -> now."""


def judged(pair: Pair, doubts: tuple[str, ...]) -> Part:
    """The verdict on it; `doubts` say why nothing of it can be called the same."""
    if pair.renamed:
        return _renamed(pair)
    if contracts.types(pair.kept) == contracts.types(pair.keeps) or _is_read_by_spark(pair):
        return compared(pair, doubts)
    return rewritten(pair, tuple(contracts.differences(pair.kept, pair.keeps)))


def rewritten(pair: Pair, reasons: tuple[str, ...]) -> Part:
    """The verdict on an operator whose state Spark does not take: how it is rewritten, and what of it is dropped."""
    part = Part(pair.query, pair.after, pair.now.name, Outcome.NEEDS_REWRITING, reasons, rewriting(pair))
    return replace(part, dropped=_lost(pair), empty=_empty(pair))


def _renamed(pair: Pair) -> Part:
    """The verdict on state variables of which some go on under other names: Spark finds them by their names."""
    goes_on = tuple(f"Its state variable {old} goes on as {new}." for old, new in pair.renamed.items())
    return rewritten(pair, (*goes_on, *contracts.differences(pair.kept, pair.keeps)))


def _lost(pair: Pair) -> tuple[str, ...]:
    """Names of its state variables that the code does not have any more."""
    lost = state_variables.lost(pair.kept, pair.keeps, (), pair.renamed)
    return tuple(operator_places.variable_name(pair.query, pair.before, name) for name in lost)


def _empty(pair: Pair) -> tuple[str, ...]:
    """Names of the state variables of the code that begin empty."""
    new = (name for name in pair.keeps.variables if name not in pair.kept.variables and name not in pair.renamed.values())
    return tuple(operator_places.variable_name(pair.query, pair.after, name) for name in new)


def _is_read_by_spark(pair: Pair) -> bool:
    """Whether Spark goes on with state variables of which some are others."""
    return pair.now.name in VARIABLES and (pair.is_avro or state_variables.is_read_by_spark(pair.kept, pair.keeps))


def rewriting(pair: Pair) -> str:
    """How the state of an operator can be rewritten."""
    if pair.now.name in VARIABLES:
        return _rewriting_variables(pair)
    if pair.now.name in (JOIN, *deduplications.KINDS):
        return _rewriting_rows(pair)
    if pair.now.name == IN_PANDAS and contracts.keys_fit(pair.kept, pair.keeps):
        return f"{COLUMNS}: each column of it is found again by its name, wider where it is, and null where it is new. {MIGRATE}"
    if pair.now.name not in (migrations.AGGREGATION, SESSIONS):
        return ANEW.format(operator_places.name_of(pair.query, pair.before)) if pair.now.name in operator_places.PLACED else REWRITE
    if not pair.is_explained or not contracts.keys_fit(pair.kept, pair.keeps):
        return MIGRATE
    try:
        return _told(_by_columns(pair))
    except Unsupported as error:
        return f"{error.message}. {MIGRATE}"


def _by_columns(pair: Pair) -> tuple[ByColumns, ...]:
    """How the columns of an aggregation, sessions, a deduplication, or a join's sides come out of those before; raises Unsupported."""
    query, now, then = pair.query, pair.now, pair.then if pair.is_explained else None
    if now.name == JOIN:
        joins.check(query, now, pair.kept, pair.keeps)
        return tuple(joins.by_columns(query, then, now, joins.values(pair.kept)).values())
    if now.name in deduplications.KINDS:
        return (deduplications.by_columns(query, then, now, contracts.key_names(pair.kept), ()),)
    if now.name != SESSIONS:
        return (migrated_columns.by_columns(query, then, now, migrated_columns.once(contracts.value_names(pair.kept))),)
    before, after = (Columns(contracts.key_names(keeps), contracts.value_names(keeps)) for keeps in (pair.kept, pair.keeps))
    return (session_windows.by_columns(query, then, now, before, after),)


def _told(made: Iterable[ByColumns]) -> str:
    return f"{COLUMNS}: {migrations.told([column for part in made for column in part.aggregates])}."


def _rewriting_rows(pair: Pair) -> str:
    """Of a deduplication or a join."""
    try:
        return _told(_by_columns(pair))
    except Unsupported as error:
        return f"{error.message}. {error.hint}"


def _rewriting_variables(pair: Pair) -> str:
    try:
        if pair.is_avro:
            raise state_variables.refused(pair.query, pair.before, "its state is kept in Avro, which Spark alone rewrites, and does not")
        made = state_variables.by_names(pair.query, pair.before, pair.kept, pair.keeps, renamed=pair.renamed)
    except Unsupported as error:
        return f"{error.message}. {error.hint}"
    return f"{COLUMNS}: {migrations.told(made.variables)}. {RENAMED}"


def compared(pair: Pair, doubts: tuple[str, ...]) -> Part:
    """An operator that Spark takes: whether its state means what it meant, and what of it is dropped."""
    if pair.renamed:
        return _renamed(pair)
    part, names = _meant(pair, doubts), _lost(pair)
    if pair.now.name in VARIABLES and not _is_read_by_spark(pair):
        reasons = (*part.reasons, BY_PLACES, *contracts.differences(pair.kept, pair.keeps))
        part = replace(part, outcome=Outcome.CHANGED_MEANING, reasons=reasons, hint=rewriting(pair))
    if not names:
        return part
    lost = ", ".join(name.rpartition(".")[2] for name in names)
    reason, same = f"Its state variables {lost} are dropped.", part.outcome is Outcome.SAME
    outcome, reasons = (Outcome.PARTLY_KEPT, (reason,)) if same else (part.outcome, (*part.reasons, reason))
    hint = f"{ACCEPT} {RENAMED}" if any(name not in pair.kept.variables for name in pair.keeps.variables) else ACCEPT
    return replace(part, outcome=outcome, reasons=reasons, hint=f"{part.hint} {hint}".strip(), dropped=names, empty=_empty(pair))


def _meant(pair: Pair, doubts: tuple[str, ...]) -> Part:
    query, id, then, now = pair.query, pair.after, pair.then, pair.now
    if then is None or not pair.is_explained:
        return Part(query, id, now.name, Outcome.CANNOT_TELL, doubts or ("The code it had does not keep what the savepoint holds.",), LOOK)
    if then.digest != now.digest:
        exchanged = _exchanged(pair)
        moved = () if exchanged else tuple(_moved(pair))
        reasons = (*_changes(then, now), *([BY_PLACES] if exchanged or moved else []), *moved, *doubts)
        return Part(query, id, now.name, Outcome.CHANGED_MEANING, reasons, exchanged or (IN_ORDER if moved else _meant_hint(now)))
    unproved = (*doubts, *then.gaps, *now.gaps)
    if unproved:
        return Part(query, id, now.name, Outcome.CANNOT_TELL, tuple(dict.fromkeys(unproved)), LOOK)
    return Part(query, id, now.name, Outcome.SAME, (ALIKE,) if then.facts == now.facts else (ALIKE, WRITTEN))


def _exchanged(pair: Pair) -> str:
    """How columns that Spark would read as others, of the same types, are rewritten; empty where there are none."""
    if pair.now.name not in (migrations.AGGREGATION, SESSIONS, JOIN, *deduplications.KINDS):
        return ""
    try:
        made = _by_columns(pair)
    except Unsupported:
        return ""
    return _told(made) if any(part.changes for part in made) else ""


def _moved(pair: Pair) -> Iterator[str]:
    """Where columns of a join or a deduplication stand in another place than before, in words: Spark takes one for the other."""
    if pair.now.name not in (JOIN, *deduplications.KINDS):
        return
    for place in sorted(pair.kept.columns.keys() & pair.keeps.columns.keys()):
        before, after = (migrated_columns.once(contracts.names_of(keeps, place)) for keeps in (pair.kept, pair.keeps))
        if any(name in after and after.index(name) != at for at, name in enumerate(before)):
            yield f"{place}: {', '.join(before)} before, {', '.join(after)} now"


def _meant_hint(now: PlannedOperator) -> str:
    return f"{MEANT} {REMAKE}" if now.name in CONVERTED or now.name in VARIABLES else MEANT


def _changes(then: PlannedOperator, now: PlannedOperator) -> Iterator[str]:
    """What differs, in words: the facts, then the functions and what they refer to."""
    has_changes = False
    for what in dict.fromkeys(name for name, _ in (*then.facts, *now.facts)):
        before, after = ([text for name, text in facts if name == what] for facts in (then.facts, now.facts))
        if before != after:
            has_changes = True
            gone, come = [text for text in before if text not in after], [text for text in after if text not in before]
            yield f"{what}: {'; '.join(gone) or 'nothing more'} before, {'; '.join(come) or 'nothing of it'} now"
    for name in sorted({**then.parts, **now.parts}):
        was, is_now = then.parts.get(name), now.parts.get(name)
        if was != is_now:
            has_changes = True
            yield _part_changed(name, was, is_now)
    if not has_changes:
        yield "Spark plans it otherwise: nothing proves that it is the same."


def _part_changed(name: str, was: str | None, now: str | None) -> str:
    if was is None or now is None:
        return f"Python's {name} {'is new' if was is None else 'is gone'}"
    if len(was) == len(now) == 64:
        return f"Python's {name} is another than before"
    return f"Python's {name} was {_short(was)}, is {_short(now)}"


def _short(text: str) -> str:
    return "something else" if len(text) == 64 else text
