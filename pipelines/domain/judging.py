"""The judge: decides from what was planned what becomes of a savepoint's state. It sees facts alone, and no text is compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pipelines.domain import contracts, judged_operators, operator_places, secrets
from pipelines.domain.contracts import Contract, Keeps
from pipelines.domain.ids import query_name
from pipelines.domain.installed import Installed, other_java, other_packages, other_python, other_zone
from pipelines.domain.judged_operators import ACCEPT, LOOK, REWRITE, Pair
from pipelines.domain.judged_sources import judged as judged_sources
from pipelines.domain.operator_places import Places
from pipelines.domain.plannings import NEW, OLD, Planned, PlannedOperator, PlannedQuery, Planning
from pipelines.domain.savepoints import QueryImage
from pipelines.domain.state_variables import is_avro
from pipelines.domain.verdicts import Fact, OperatorPair, OperatorPlan, Outcome, Part

PLACE = "Its state is moved there, and what is new begins empty, with --migrate columns."
TELL_WHICH = "Say which goes on as which (--map OLD=NEW), or drop what is gone (--drop)."
START = "Correct the code, or begin a new job, without the state."
REWRITTEN = ("STATE_STORE_KEY_SCHEMA", "STATE_STORE_VALUE_SCHEMA", "STREAMING_STATEFUL_OPERATOR", "STATE_STORE_COLUMN")
"""Error classes (their beginnings) of state that is there, and is another than the code keeps."""
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
    told: Mapping[str, str] = field(default_factory=dict)
    """Names of operators, and of state variables, before -> now, as the user says."""
    announced: tuple[str, ...] = ()
    """Queries that begin anew, as the user says."""


def judge(known: Known, planning: Planning) -> tuple[Part, ...]:
    """The verdict on each part of one query; raises Invalid (`map.operator`) for what is told of an operator that is not there."""
    query = known.image.query
    if planning.unsupported:
        return (_whole(query, Outcome.CANNOT_TELL, f"{planning.unsupported}: nothing is guessed.", LOOK),)
    old, new = planning.side(OLD), planning.side(NEW)
    after = new.find(query)
    if after is None:
        return (_missing(query, known.announced, old, new),)
    if after.failure is not None:
        return (_whole(query, Outcome.CANNOT_START, f"Spark cannot plan it: {after.failure.message}", START),)
    before = old.find(query)
    return (*judged_sources(known.image, before, after, known.told), *_operators(known, before, after, old, planning))


def pairs(known: Known, planning: Planning) -> Iterator[OperatorPair]:
    """The operators of one query as both codes have them, each beside the one that goes on with its state."""
    query = known.image.query
    then, now = (planning.operators(side, query) for side in (OLD, NEW))
    places = _places(known, then, now)
    together = places.pairs or {id: id for id in known.kept.keys() & now.keys() if places.stay}
    for at, old in sorted(together.items()):
        yield OperatorPair(query, plan_of(old, known.kept[old].name, then.get(old)), plan_of(at, now[at].name, now[at]))
    gone = places.dropped if now else tuple(known.kept)
    yield from (OperatorPair(query, plan_of(old, known.kept[old].name, then.get(old)), None) for old in gone)
    yield from (OperatorPair(query, None, plan_of(at, now[at].name, now[at])) for at in places.added)
    before, after = places.ambiguous
    yield from (OperatorPair(query, plan_of(old, known.kept[old].name, then.get(old)), None, is_unclear=True) for old in before)
    yield from (OperatorPair(query, None, plan_of(at, now[at].name, now[at]), is_unclear=True) for at in after)


def plan_of(operator: int, name: str, planned: PlannedOperator | None) -> OperatorPlan:
    """An operator as it was planned; without facts where it was not."""
    if planned is None:
        return OperatorPlan(operator, name)
    return OperatorPlan(operator, name, tuple(Fact(what, text) for what, text in planned.facts), planned.columns)


def _missing(query: str, announced: Iterable[str], old: Planned, new: Planned) -> Part:
    """The query does not start: its script failed, or starts others."""
    if new.failure is not None:
        outcome = Outcome.CANNOT_START if old.queries else Outcome.CANNOT_TELL
        return _whole(query, outcome, f"The script failed before it started: {new.failure.error_class}: {new.failure.message}", START)
    anew = [query_name(name) for name in announced]
    others = [planned.query for planned in new.queries if old.find(planned.query) is None and planned.query not in anew]
    if others:
        reason = f"The code starts {', '.join(others)}, and not {query}: state belongs to a query by its name."
        return _whole(query, Outcome.CANNOT_START, reason, "Give it the name that it had, with queryName.")
    part = _whole(query, Outcome.PARTLY_KEPT, "The code does not start it any more: its state is left behind.", ACCEPT)
    return replace(part, dropped=(query,))


def _operators(known: Known, before: PlannedQuery | None, after: PlannedQuery, old: Planned, planning: Planning) -> Iterator[Part]:
    now, then = after.numbered, before.numbered if before is not None else {}
    if not known.kept and not now:
        yield _whole(known.image.query, Outcome.SAME, "It keeps no state.", "")
    if after.refusal is not None and not after.refusal.error_class.startswith(REWRITTEN):
        yield _whole(known.image.query, Outcome.CANNOT_START, f"Spark refuses it: {after.refusal.message}", START)
        return
    doubts = tuple(_doubts(known, before, after, old, planning))
    places = _places(known, then, now)
    if not places.stay:
        yield from _placed(known, places, then, now, doubts, planning.python_version)
        return
    ids = sorted(known.kept.keys() | now.keys())
    parts = [_operator(known, operator, then.get(operator), now.get(operator), after, doubts, planning.python_version) for operator in ids]
    yield from parts
    if after.refusal is not None and all(part.outcome.starts for part in parts):
        yield _whole(known.image.query, Outcome.NEEDS_REWRITING, f"Spark refuses it: {after.refusal.message}", REWRITE)


def _places(known: Known, then: Mapping[int, PlannedOperator], now: Mapping[int, PlannedOperator]) -> Places:
    """Which operator goes on with which state; all as they are where what the code would keep is not known of each."""
    if {id: keeps.name for id, keeps in known.new.items()} != {id: operator.name for id, operator in now.items()}:
        return Places()
    told = operator_places.mapped(known.image.query, known.told)
    explained = then if contracts.fits(known.kept, known.old) else {}
    return operator_places.place(known.kept, known.new, explained, now, told=told, by_number=True)


def _placed(
    known: Known,
    places: Places,
    then: Mapping[int, PlannedOperator],
    now: Mapping[int, PlannedOperator],
    doubts: tuple[str, ...],
    python: str,
) -> Iterator[Part]:
    """The verdict on operators of which some are new, gone or in another place."""
    query = known.image.query
    for at, old in sorted(places.pairs.items()):
        beneath = _beneath(known, then.get(old), now[at], python)
        part = judged_operators.judged(_pair(known, old, at, then.get(old), now[at]), (*doubts, *beneath))
        yield part if old == at else _moved_from(old, part, is_whole=not places.dropped)
    for at in places.added:
        reason = f"The code has a {now[at].name} here, of which the savepoint holds no state."
        yield Part(query, at, now[at].name, Outcome.NEEDS_REWRITING, (reason,), PLACE)
    for old in places.dropped:
        name = operator_places.name_of(query, old)
        reason = f"The code has no {known.kept[old].name} like it any more: its state is dropped."
        yield Part(query, old, known.kept[old].name, Outcome.PARTLY_KEPT, (reason,), f"{ACCEPT[:-1]} {name}.", dropped=(name,))
    before, after = places.ambiguous
    names = ", ".join(operator_places.name_of(query, old) for old in before)
    for at in after:
        reason = f"Its state may be that of {names}: they are alike, and none is computed as before."
        yield Part(query, at, now[at].name, Outcome.NEEDS_REWRITING, (reason,), TELL_WHICH)


def _moved_from(old: int, part: Part, *, is_whole: bool) -> Part:
    """The verdict on an operator whose state moves: that is a rewriting of its own where nothing else is dropped, else a part of that."""
    part = replace(part, reasons=(f"Its state is that of operator {old}, and moves to {part.operator}.", *part.reasons))
    if not is_whole or not part.outcome.starts:
        return part
    return replace(part, outcome=Outcome.NEEDS_REWRITING, hint=PLACE)


def _pair(known: Known, old: int, at: int, then: PlannedOperator | None, now: PlannedOperator) -> Pair:
    query, kept, keeps = known.image.query, known.kept[old], known.new[at]
    renamed = operator_places.renamed(query, known.told, old, at, kept, keeps)
    is_explained = contracts.fits(known.kept, known.old)
    return Pair(query, old, at, kept, keeps, then, now, is_explained, is_avro(known.image.conf), renamed)


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
    pair = _pair(known, id, id, then, now)
    if after.refusal is not None and after.refusal.error_class.startswith(REWRITTEN):
        changed = tuple(contracts.differences(kept, keeps))
        if changed or len(known.kept) == 1:
            reasons = changed or (after.refusal.message,)
            return judged_operators.rewritten(pair, reasons)
    return judged_operators.compared(pair, (*doubts, *_beneath(known, then, now, python)))


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
    yield from other_zone(known.installed, planning.time_zone)
    for key in sorted({**before.conf, **after.conf}):
        was, now = before.conf.get(key), after.conf.get(key)
        if was != now and key not in known.image.conf and not key.startswith(WITHOUT_MEANING):
            shown = [secrets.shown(key, value) if value else "not set" for value in (was, now)]
            yield f"The conf {key} was {shown[0]}, is {shown[1]}."


def _beneath(known: Known, then: PlannedOperator | None, now: PlannedOperator, python: str) -> Iterator[str]:
    """What Python functions stand on beside the code that was compared, and files that are joined to what streams."""
    if now.has_functions:
        yield from other_python(known.installed, python)
    yield from other_packages(known.installed, {**(then.packages if then is not None else {}), **now.packages})
    for place, changed_ms in now.reads.items():
        if not 0 <= changed_ms < known.image.batch_timestamp_ms:
            yield f"It reads files at {place} that were changed after the savepoint's batch, or may have been."


def _moved(kept: Keeps | None, now: PlannedOperator | None) -> str:
    if now is None:
        return f"The code has no {kept.name if kept else 'operator'} here any more: its state would be left behind."
    if kept is None:
        return f"The code has a {now.name} here, of which the savepoint holds no state."
    if kept.name == now.name:
        return f"What {now.name} would keep is not known."
    return f"The savepoint holds the state of a {kept.name} here, and the code has a {now.name}."


def _whole(query: str, outcome: Outcome, reason: str, hint: str) -> Part:
    return Part(query, None, "", outcome, (reason,), hint)
