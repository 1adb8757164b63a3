"""Which operators of a restored copy are rewritten for changed code, and how, by what Spark planned of both codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipelines.checkpoint import state_schema
from pipelines.domain import contracts, deduplications, group_states, migrated_columns, migrations, operator_places, session_windows
from pipelines.domain.conversions import IN_PANDAS, SESSIONS, Shape
from pipelines.domain.errors import Unsupported
from pipelines.domain.json_text import read_json
from pipelines.domain.migrations import AGGREGATION, COLUMNS, ByColumns
from pipelines.domain.operator_places import VARIABLES
from pipelines.domain.operators import JOIN
from pipelines.domain.plannings import NEW, OLD, PlannedOperator, Planning
from pipelines.domain.savepoints import Operator
from pipelines.domain.session_windows import Columns
from pipelines.sandbox.migrations import Target
from pipelines.savepoint import migration
from pipelines.workspace import joins, state_changes, variables
from pipelines.workspace.placements import Placed
from pipelines.workspace.state_changes import Change


@dataclass(frozen=True)
class Asked:
    """The migration that is asked for: `columns` and nothing, or a function's name and the text of its file."""

    by: str
    code: str
    new_queries: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    """Names of what may be dropped: queries, operators, state variables."""
    told: Mapping[str, str] = field(default_factory=dict)
    """Names of operators before -> now."""
    is_last: bool = True
    """Whether nothing else is done with the state afterwards."""


def decided(asked: Asked, planning: Planning, placed: Sequence[Placed], folder: Path) -> Iterator[Change]:
    """The operators of the queries in `placed` whose rows are rewritten; raises Unsupported (`migrate.columns`, `migrate.operators`,
    `migrate.refused`)."""
    for query in placed:
        for operator, at in query.operators():
            if operator.name in (AGGREGATION, SESSIONS):
                yield from _change(query, operator, at, asked, planning, folder)
            elif operator.name == JOIN:
                yield from joins.decided(query, operator, at, planning, folder, is_by_columns=asked.by == COLUMNS)
            elif operator.name in deduplications.KINDS:
                yield from _of_key(query, operator, at, asked, planning, folder)
            elif operator.name == IN_PANDAS:
                yield from _of_group(query, operator, at, asked, planning, folder)
            elif operator.name in VARIABLES:
                by_function = asked.by != COLUMNS and not state_changes.is_left(query, operator, at, planning)
                yield from variables.decided(query, operator, at, asked.drop, asked.told, folder, by_function=by_function)


def _of_key(placed: Placed, operator: Operator, at: int, asked: Asked, planning: Planning, folder: Path) -> Iterator[Change]:
    """A deduplication whose key has other columns, or has them in other places; by a function also one whose key is computed otherwise."""
    image, contract = placed.known.image, state_changes.contract(placed, folder)
    was, is_now = _shapes(placed, operator, at, contract)
    made = _by_key(placed, operator, at, planning, was) if asked.by == COLUMNS else None
    if not made.changes if made is not None else state_changes.is_left(placed, operator, at, planning):
        return
    store = state_changes.store(placed, operator, at, operator.stores[0])
    target = Target(is_now, state_changes.described(contract, at), name=operator_places.name_of(image.query, at))
    if made:
        target = replace(target, expressions=made.expressions, key=made.key)
    if operator.name == deduplications.WITHIN_WATERMARK:
        target = replace(target, never_null=deduplications.NEVER_NULL)
    before, after = (state_schema.ddl(read_json(shape.key)) for shape in (was, is_now))
    yield Change(image, replace(operator, id=at), store, target, before, after, made)


def _shapes(placed: Placed, operator: Operator, at: int, contract: Path) -> tuple[Shape, Shape]:
    """Of its first store, before and now."""
    image = placed.known.image
    return migration.shape(placed.checkpoint, image, operator), migration.shape(str(contract), image, replace(operator, id=at))


def _by_key(placed: Placed, operator: Operator, at: int, planning: Planning, was: Shape) -> ByColumns:
    """How its key is made; one that Spark takes, and that cannot be matched, stays."""
    known, query = placed.known, placed.known.image.query
    then, now = planning.operators(OLD, query).get(operator.id), planning.operators(NEW, query)[at]
    key, value = (migrated_columns.once(_names(struct)) for struct in (was.key, was.value))
    try:
        return deduplications.by_columns(query, then if contracts.fits(known.kept, known.old) else None, now, key, value)
    except Unsupported:
        if contracts.types(known.kept[operator.id]) == contracts.types(known.new[at]):
            return ByColumns((), (), changes=False)
        raise


def _of_group(placed: Placed, operator: Operator, at: int, asked: Asked, planning: Planning, folder: Path) -> Iterator[Change]:
    """An applyInPandasWithState whose state has other columns; by a function also one that is computed otherwise."""
    image, contract = placed.known.image, state_changes.contract(placed, folder)
    was, is_now = _shapes(placed, operator, at, contract)
    old, new = read_json(was.value), read_json(is_now.value)
    is_by_columns = asked.by == COLUMNS
    if is_by_columns:
        group_states.check_key(image.query, at, read_json(was.key), read_json(is_now.key))
    if (is_by_columns or state_changes.is_left(placed, operator, at, planning)) and group_states.fits(old, new):
        return
    made = group_states.by_columns(image.query, at, old, new) if is_by_columns else None
    name = operator_places.name_of(image.query, at)
    store = state_changes.store(placed, operator, at, operator.stores[0])
    target = Target(is_now, state_changes.described(contract, at), made.expressions if made else (), name=name)
    yield Change(image, replace(operator, id=at), store, target, state_schema.ddl(old), state_schema.ddl(new), made)


def _change(placed: Placed, operator: Operator, at: int, asked: Asked, planning: Planning, folder: Path) -> Iterator[Change]:
    """An aggregation, by windows of sessions or not, whose aggregates are others."""
    image, contract = placed.known.image, state_changes.contract(placed, folder)
    was, is_now = _shapes(placed, operator, at, contract)
    then, now = planning.operators(OLD, image.query).get(operator.id), planning.operators(NEW, image.query).get(at)
    if now is None:
        raise Unsupported("migrate.refused", f"What operator {at} of query {image.query} computes is not known", "Leave it.")
    made = _by_columns(placed, operator, then, now, was, is_now) if asked.by == COLUMNS else None
    if made is not None and not made.changes:
        return
    if made is None and state_changes.is_left(placed, operator, at, planning):
        return
    name = operator_places.name_of(image.query, at)
    store = state_changes.store(placed, operator, at, operator.stores[0])
    target = Target(is_now, state_changes.described(contract, at), made.expressions if made else (), name=name)
    before, after = (state_schema.ddl(read_json(shape.value)) for shape in (was, is_now))
    yield Change(image, replace(operator, id=at), store, _of_rows(target, now, is_now), before, after, made)


def _of_rows(target: Target, now: PlannedOperator, shape: Shape) -> Target:
    """The target with what Spark relies on in its rows."""
    if now.name != SESSIONS:
        return replace(target, never_null=migrated_columns.never_null(now.aggregates))
    columns = _columns(shape)
    return replace(target, never_null=session_windows.never_null(now, columns), spread_by=shape.prefix, copies=columns.copies())


def _by_columns(
    placed: Placed, operator: Operator, then: PlannedOperator | None, now: PlannedOperator, was: Shape, is_now: Shape
) -> ByColumns:
    known, query, beneath = placed.known, placed.known.image.query, placed.is_placed
    if not contracts.fits(known.kept, known.old):
        message = f"The code that query {query} had does not keep what the savepoint holds"
        raise Unsupported("migrate.columns", message, migrations.BY_FUNCTION)
    if not contracts.keys_fit(known.kept[operator.id], known.new[now.id]):
        message = f"Operator {now.id} of query {query} groups by another key than before"
        raise Unsupported("migrate.columns", message, migrations.BY_FUNCTION)
    if now.name == SESSIONS:
        return session_windows.by_columns(query, then, now, _columns(was), _columns(is_now), beneath=beneath)
    return migrated_columns.by_columns(query, then, now, migrated_columns.once(_names(was.value)), beneath=beneath)


def _columns(shape: Shape) -> Columns:
    return Columns(_names(shape.key), _names(shape.value))


def _names(struct: str) -> list[str]:
    return [field["name"] for field in read_json(struct)["fields"]]
