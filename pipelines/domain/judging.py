"""The judge: decides from what was planned what becomes of a savepoint's state. It sees facts alone, and no text is compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.domain import contracts, migrations, secrets
from pipelines.domain.contracts import Contract, Keeps
from pipelines.domain.errors import Unsupported
from pipelines.domain.installed import Installed, other_java, other_packages, other_python
from pipelines.domain.judged_sources import judged as judged_sources
from pipelines.domain.plannings import NEW, OLD, Planned, PlannedOperator, PlannedQuery, Planning
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.verdicts import Outcome, Part

MEANT = "Where that is meant, fork: what was kept so far stays in the state as it was computed before. Else begin anew, without the state."
REWRITE = "Tidemark rewrites aggregations alone. Keep this operator as it was, and compute what is new in a query of its own (--new-query)."
MIGRATE = "Fork it with --migrate FILE:function: a function makes its new rows of the old ones, before the job begins."
COLUMNS = "Its state can be rewritten for a fork, with --migrate columns"
START = "Correct the code, or begin a new job, without the state."
LOOK = "It may well be the same; nothing here proves it. Compare its output with the parent's in an experiment."
REWRITTEN = ("STATE_STORE_KEY_SCHEMA", "STATE_STORE_VALUE_SCHEMA", "STREAMING_STATEFUL_OPERATOR", "STATE_STORE_COLUMN")
"""Error classes (their beginnings) of state that is there, and is another than the code keeps."""
SQL = "spark.sql."
WITHOUT_MEANING = (
    "spark.sql.warehouse",
    "spark.sql.streaming.metrics",
    "spark.sql.streaming.numRecentProgress",
    "spark.sql.streaming.checkpointLocation",
    "spark.sql.ui",
    "spark.sql.streaming.ui",
    "spark.sql.adaptive",
    "spark.sql.artifact",
    "spark.sql.catalogImplementation",
    "spark.sql.streaming.minBatchesToRetain",
    "spark.sql.streaming.pollingDelay",
)
"""Confs (their beginnings) that change no row."""


@dataclass(frozen=True)
class Known:
    """What is known of one query: its savepoint, what the savepoint keeps, and what both codes would keep on nothing."""

    image: QueryImage
    kept: Contract
    old: Contract
    new: Contract
    installed: Installed | None = None
    """What the run that wrote the state stood on, where that was noted."""
    spark_version: str = ""
    """The Spark that wrote it."""
    doubts: tuple[str, ...] = ()
    """Why nothing can be called the same, whatever is planned."""


def judge(known: Known, planning: Planning) -> tuple[Part, ...]:
    """The verdict on each part of one query."""
    query = known.image.query
    if planning.unsupported:
        return (_whole(query, Outcome.CANNOT_TELL, f"{planning.unsupported}: nothing is guessed.", LOOK),)
    old, new = planning.sides.get(OLD, Planned()), planning.sides.get(NEW, Planned())
    after = _find(new, query)
    if after is None:
        return (_missing(query, old, new),)
    if after.failure is not None:
        return (_whole(query, Outcome.CANNOT_START, f"Spark cannot plan it: {after.failure.message}", START),)
    before = _find(old, query)
    return (*judged_sources(known.image, before, after), *_operators(known, before, after, old, planning))


def _missing(query: str, old: Planned, new: Planned) -> Part:
    """The query does not start: its script failed, or starts others."""
    if new.failure is not None:
        outcome = Outcome.CANNOT_START if old.queries else Outcome.CANNOT_TELL
        return _whole(query, outcome, f"The script failed before it started: {new.failure.error_class}: {new.failure.message}", START)
    others = [planned.query for planned in new.queries if _find(old, planned.query) is None]
    if others:
        reason = f"The code starts {', '.join(others)}, and not {query}: state belongs to a query by its name."
        return _whole(query, Outcome.CANNOT_START, reason, "Give it the name that it had, with queryName.")
    return _whole(query, Outcome.PARTLY_KEPT, "The code does not start it any more: its state is left behind.", "")


def _operators(known: Known, before: PlannedQuery | None, after: PlannedQuery, old: Planned, planning: Planning) -> Iterator[Part]:
    now = {operator.id: operator for operator in after.operators}
    then = {operator.id: operator for operator in before.operators} if before is not None else {}
    if not known.kept and not now:
        yield _whole(known.image.query, Outcome.SAME, "It keeps no state.", "")
    if after.refusal is not None and not after.refusal.error_class.startswith(REWRITTEN):
        yield _whole(known.image.query, Outcome.CANNOT_START, f"Spark refuses it: {after.refusal.message}", START)
        return
    doubts = tuple(_doubts(known, before, after, old, planning))
    ids = sorted(known.kept.keys() | now.keys())
    parts = [_operator(known, operator, then.get(operator), now.get(operator), after, doubts, planning.python_version) for operator in ids]
    yield from parts
    if after.refusal is not None and all(part.outcome.starts for part in parts):
        yield _whole(known.image.query, Outcome.NEEDS_REWRITING, f"Spark refuses it: {after.refusal.message}", REWRITE)


def _operator(
    known: Known,
    id: int,
    then: PlannedOperator | None,
    now: PlannedOperator | None,
    after: PlannedQuery,
    doubts: tuple[str, ...],
    python: str,
) -> Part:
    query, kept, keeps = known.image.query, known.kept.get(id), known.new.get(id)
    name = now.name if now is not None else kept.name if kept is not None else ""
    if kept is None or now is None or keeps is None or kept.name != now.name:
        return Part(query, id, name, Outcome.NEEDS_REWRITING, (_moved(kept, now),), REWRITE)
    if after.refusal is not None and after.refusal.error_class.startswith(REWRITTEN):
        changed = tuple(contracts.differences(kept, keeps))
        if changed or len(known.kept) == 1:
            reasons = changed or (after.refusal.message,)
            return Part(query, id, name, Outcome.NEEDS_REWRITING, reasons, _rewriting(known, id, then, now))
    return _compared(known, id, then, now, (*doubts, *_beneath(known.installed, then, now, python)))


def _rewriting(known: Known, id: int, then: PlannedOperator | None, now: PlannedOperator) -> str:
    """How the state of an operator can be rewritten."""
    if now.name != migrations.AGGREGATION:
        return REWRITE
    if not contracts.fits(known.kept, known.old) or not contracts.keys_fit(known.kept[id], known.new[id]):
        return MIGRATE
    try:
        made = migrations.by_columns(known.image.query, then, now, migrations.once(contracts.value_names(known.kept[id])))
    except Unsupported as error:
        return f"{error.message}. {MIGRATE}"
    return f"{COLUMNS}: {migrations.told(made.aggregates)}."


def _compared(known: Known, id: int, then: PlannedOperator | None, now: PlannedOperator, doubts: tuple[str, ...]) -> Part:
    """An operator that Spark takes: whether its state means what it meant."""
    query, lost = known.image.query, [name for name in known.kept[id].variables if name not in known.new[id].variables]
    if then is None or not contracts.fits(known.kept, known.old):
        return Part(query, id, now.name, Outcome.CANNOT_TELL, doubts or ("The code it had does not keep what the savepoint holds.",), LOOK)
    if then.digest != now.digest:
        return Part(query, id, now.name, Outcome.CHANGED_MEANING, tuple(_changes(then, now)), MEANT)
    unproved = (*doubts, *then.gaps, *now.gaps)
    if unproved:
        return Part(query, id, now.name, Outcome.CANNOT_TELL, tuple(dict.fromkeys(unproved)), LOOK)
    if lost:
        return Part(query, id, now.name, Outcome.PARTLY_KEPT, (f"Its state variables {', '.join(lost)} are dropped.",), "")
    return Part(query, id, now.name, Outcome.SAME, ("What is computed up to here is the same.",))


def _changes(then: PlannedOperator, now: PlannedOperator) -> Iterator[str]:
    """What differs, in words: the facts, then the functions and what they refer to."""
    said = False
    for what in dict.fromkeys(name for name, _ in (*then.facts, *now.facts)):
        before, after = ([text for name, text in facts if name == what] for facts in (then.facts, now.facts))
        if before != after:
            said = True
            gone, come = [text for text in before if text not in after], [text for text in after if text not in before]
            yield f"{what}: {'; '.join(gone) or 'nothing more'} before, {'; '.join(come) or 'nothing of it'} now"
    for name in sorted({**then.parts, **now.parts}):
        was, is_now = then.parts.get(name), now.parts.get(name)
        if was != is_now:
            said = True
            yield _part_changed(name, was, is_now)
    if not said:
        yield "Spark plans it otherwise: nothing proves that it is the same."


def _part_changed(name: str, was: str | None, now: str | None) -> str:
    if was is None or now is None:
        return f"Python's {name} {'is new' if was is None else 'is gone'}"
    if len(was) == len(now) == 64:
        return f"Python's {name} is another than before"
    return f"Python's {name} was {_short(was)}, is {_short(now)}"


def _short(text: str) -> str:
    return "something else" if len(text) == 64 else text


def _doubts(known: Known, before: PlannedQuery | None, after: PlannedQuery, old: Planned, planning: Planning) -> Iterator[str]:
    """Why nothing of the query can be called the same."""
    if before is None:
        why = f": {old.failure.message}" if old.failure is not None else "."
        yield f"The code that the savepoint was taken of could not be planned{why}"
        return
    if before.failure is not None:
        yield f"The code that the savepoint was taken of could not be planned: {before.failure.message}"
    yield from known.doubts
    if known.spark_version and planning.spark_version != known.spark_version:
        yield f"The state was written by Spark {known.spark_version}, and this is Spark {planning.spark_version}."
    if known.installed is not None:
        yield from other_packages(known.installed, {**old.uses, **planning.sides[NEW].uses})
    yield from other_java(known.installed, planning.java_version)
    for key in sorted({**before.conf, **after.conf}):
        was, now = before.conf.get(key), after.conf.get(key)
        if was != now and key not in known.image.conf and not key.startswith(WITHOUT_MEANING):
            shown = [secrets.shown(key, value) if value else "not set" for value in (was, now)]
            yield f"The conf {key} was {shown[0]}, is {shown[1]}."


def _beneath(installed: Installed | None, then: PlannedOperator | None, now: PlannedOperator, python: str) -> Iterator[str]:
    """What Python functions stand on beside the code that was compared."""
    if now.has_functions:
        yield from other_python(installed, python)
    yield from other_packages(installed, {**(then.packages if then is not None else {}), **now.packages})


def _moved(kept: Keeps | None, now: PlannedOperator | None) -> str:
    if now is None:
        return f"The code has no {kept.name if kept else 'operator'} here any more: its state would be left behind."
    if kept is None:
        return f"The code has a {now.name} here, of which the savepoint holds no state."
    if kept.name == now.name:
        return f"What {now.name} would keep is not known."
    return f"The savepoint holds the state of a {kept.name} here, and the code has a {now.name}."


def _find(side: Planned, query: str) -> PlannedQuery | None:
    return next((planned for planned in side.queries if planned.query == query), None)


def _whole(query: str, outcome: Outcome, reason: str, hint: str) -> Part:
    return Part(query, None, "", outcome, (reason,), hint)
