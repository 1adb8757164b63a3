"""Which aggregations, deduplications and states of groups of a restored copy are rewritten for changed code, and how, by what Spark planned
of both codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipelines.checkpoint import state_schema
from pipelines.domain import contracts, deduplications, group_states, migrations
from pipelines.domain.contracts import Keeps
from pipelines.domain.conversions import IN_PANDAS
from pipelines.domain.errors import Unsupported
from pipelines.domain.ids import folder_of
from pipelines.domain.json_text import read_json
from pipelines.domain.judging import Known
from pipelines.domain.migrations import AGGREGATION, COLUMNS, ByColumns
from pipelines.domain.plannings import CONTRACT, NEW, OLD, PlannedOperator, Planning
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.sandbox.counts import Store
from pipelines.sandbox.migrations import Target
from pipelines.savepoint import migration
from pipelines.workspace.placements import Placed


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


@dataclass(frozen=True)
class Change:
    """One operator to rewrite; `store` is where it is by then, `before` and `after` are the columns of its value, or of its key where that
    is another."""

    image: QueryImage
    operator: Operator
    store: Store
    target: Target
    before: str
    after: str
    by_columns: ByColumns | None


def decided(asked: Asked, planning: Planning, placed: Sequence[Placed], folder: Path) -> Iterator[Change]:
    """The operators of the queries in `placed` whose rows are rewritten; raises Unsupported (`migrate.columns`, `migrate.operators`,
    `migrate.refused`)."""
    for one in placed:
        for operator, at in one.operators():
            if operator.name == AGGREGATION:
                yield from _change(one, operator, at, asked, planning, folder)
            elif operator.name in deduplications.KINDS:
                yield from _of_key(one, operator, at, planning, folder)
            elif operator.name == IN_PANDAS:
                yield from _of_group(one, operator, at, asked, folder)


def _of_key(placed: Placed, operator: Operator, at: int, planning: Planning, folder: Path) -> Iterator[Change]:
    """A deduplication whose key has other columns, whatever makes the rows of aggregations."""
    known, image = placed.known, placed.known.image
    if contracts.types(known.kept[operator.id]) == contracts.types(known.new[at]):
        return
    contract = folder / NEW / CONTRACT / folder_of(image.query)
    was, is_now = migration.shape(placed.checkpoint, image, operator), migration.shape(str(contract), image, replace(operator, id=at))
    then, now = planning.operators(OLD, image.query).get(operator.id), planning.operators(NEW, image.query)[at]
    key, value = (migrations.once([field["name"] for field in read_json(of)["fields"]]) for of in (was.key, was.value))
    is_explained = contracts.fits(known.kept, known.old)
    made = deduplications.by_columns(image.query, then if is_explained else None, now, key, value)
    store = Store(image.query, placed.checkpoint, image.batch, image.provider, image.state_format, at, operator.name, operator.stores[0])
    target = Target(is_now, str(contract / "state" / str(at)), made.expressions, key=made.key)
    before, after = (state_schema.ddl(read_json(shape.key)) for shape in (was, is_now))
    yield Change(image, replace(operator, id=at), store, target, before, after, made)


def _of_group(placed: Placed, operator: Operator, at: int, asked: Asked, folder: Path) -> Iterator[Change]:
    """An applyInPandasWithState whose state has other columns."""
    known, image = placed.known, placed.known.image
    contract = folder / NEW / CONTRACT / folder_of(image.query)
    was, is_now = migration.shape(placed.checkpoint, image, operator), migration.shape(str(contract), image, replace(operator, id=at))
    old, new = read_json(was.value), read_json(is_now.value)
    is_by_columns = asked.by == COLUMNS
    if contracts.keys_fit(known.kept[operator.id], known.new[at]) and group_states.fits(old, new):
        return
    if is_by_columns and not contracts.keys_fit(known.kept[operator.id], known.new[at]):
        raise group_states.refused(image.query, at, "it groups by another key than before")
    made = group_states.by_columns(image.query, at, old, new) if is_by_columns else None
    store = Store(image.query, placed.checkpoint, image.batch, image.provider, image.state_format, at, operator.name, operator.stores[0])
    target = Target(is_now, str(contract / "state" / str(at)), made.expressions if made else ())
    yield Change(image, replace(operator, id=at), store, target, state_schema.ddl(old), state_schema.ddl(new), made)


def _change(placed: Placed, operator: Operator, at: int, asked: Asked, planning: Planning, folder: Path) -> Iterator[Change]:
    known, image, beneath = placed.known, placed.known.image, placed.placing is not None
    checkpoint, contract = placed.checkpoint, folder / NEW / CONTRACT / folder_of(image.query)
    was, is_now = migration.shape(checkpoint, image, operator), migration.shape(str(contract), image, replace(operator, id=at))
    then, now = planning.operators(OLD, image.query).get(operator.id), planning.operators(NEW, image.query).get(at)
    if now is None:
        raise Unsupported("migrate.refused", f"What operator {at} of query {image.query} computes is not known", "Leave it.")
    kept, keeps = known.kept[operator.id], known.new[at]
    made = _by_columns(image, kept, keeps, known, then, now, was.value, beneath=beneath) if asked.by == COLUMNS else None
    if made is not None and not made.changes:
        return
    if made is None and contracts.types(kept) == contracts.types(keeps) and then and then.digest == now.digest:
        return
    store = Store(image.query, checkpoint, image.batch, image.provider, image.state_format, at, operator.name, operator.stores[0])
    target = Target(is_now, str(contract / "state" / str(at)), made.expressions if made else (), migrations.never_null(now.aggregates))
    before, after = (state_schema.ddl(read_json(shape.value)) for shape in (was, is_now))
    yield Change(image, replace(operator, id=at), store, target, before, after, made)


def _by_columns(
    image: QueryImage,
    kept: Keeps,
    keeps: Keeps,
    known: Known,
    then: PlannedOperator | None,
    now: PlannedOperator,
    value: str,
    *,
    beneath: bool,
) -> ByColumns:
    if not contracts.fits(known.kept, known.old):
        message = f"The code that query {image.query} had does not keep what the savepoint holds"
        raise Unsupported("migrate.columns", message, migrations.BY_FUNCTION)
    if not contracts.keys_fit(kept, keeps):
        message = f"Operator {now.id} of query {image.query} groups by another key than before"
        raise Unsupported("migrate.columns", message, migrations.BY_FUNCTION)
    names = [field["name"] for field in read_json(value)["fields"]]
    return migrations.by_columns(image.query, then, now, migrations.once(names), beneath=beneath)
