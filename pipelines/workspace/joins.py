"""Which joins of a restored copy are rewritten for changed code, and how, by what Spark planned of both codes.

A join has four stores: of each side the rows that wait, by key and number, and how many there are of a key. All four are written
anew, those of the numbers as they were. In formats 3 and 4 they are column families of one store; in format 4 the rows stand by key and
event time, and beside them is which keys there are of each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pipelines.checkpoint import state_schema
from pipelines.domain import contracts, joins, migrated_columns, operator_places
from pipelines.domain.contracts import Keeps
from pipelines.domain.conversions import Shape
from pipelines.domain.errors import Unsupported
from pipelines.domain.joins import ROWS, SIDES
from pipelines.domain.json_text import read_json
from pipelines.domain.migrations import ByColumns
from pipelines.domain.plannings import NEW, OLD, Planning
from pipelines.domain.savepoints import Operator
from pipelines.sandbox.migrations import Target
from pipelines.savepoint import migration
from pipelines.workspace import state_changes, variables
from pipelines.workspace.placements import Placed
from pipelines.workspace.state_changes import Change


def decided(
    placed: Placed, operator: Operator, at: int, planning: Planning, folder: Path, *, is_by_columns: bool = True
) -> Iterator[Change]:
    """The stores of a join that keeps other columns of a side; by a function also of one that joins otherwise. Raises Unsupported
    (`migrate.operators`)."""
    sides = _by_columns(placed, operator, at, planning) if is_by_columns else None
    if sides is not None and not any(made.changes for made in sides.values()):
        return
    if sides is None and not _is_for_function(placed, operator, at, planning):
        return
    image, contract = placed.known.image, state_changes.contract(placed, folder)
    if placed.known.new[at].families:
        yield _of_families(placed, operator, at, planning, sides, contract)
        return
    for store in operator.stores:
        side, _, kind = store.partition("-")
        was = migration.shape(placed.checkpoint, image, operator, store)
        is_now = migration.shape(str(contract), image, replace(operator, id=at), store)
        made = sides[side] if sides and kind == ROWS else None
        target = Target(is_now, state_changes.described(contract, at))
        if sides is None:
            target = _by_function(target, side, kind, operator_places.name_of(image.query, at))
        else:
            expressions = made.expressions if made else tuple(f"value.`{name}`" for name in _names(was.value))
            target = replace(target, expressions=expressions, spread_by=_spread_by(kind, is_now))
        before, after = (state_schema.ddl(read_json(shape.value)) for shape in (was, is_now))
        moved, place = replace(operator, id=at), state_changes.store(placed, operator, at, store)
        yield Change(image, moved, place, target, before, after, made, is_told=made.changes if made else sides is None and kind == ROWS)


def _of_families(
    placed: Placed, operator: Operator, at: int, planning: Planning, sides: Mapping[str, ByColumns] | None, contract: Path
) -> Change:
    """The one store of formats 3 and 4, whose column families are written anew: those of a side's rows with other columns."""
    known, query = placed.known, placed.known.image.query
    kept, keeps = known.kept[operator.id], known.new[at]
    shape = variables.shape(contract, operator, at, operator.stores[0])
    target = Target(shape, state_changes.described(contract, at), name=operator_places.name_of(query, at))
    store = state_changes.store(placed, operator, at, operator.stores[0])
    if sides is None:
        families = joins.made_families(query, planning.operators(NEW, query)[at], kept, keeps)
        before, after = (_told(of, SIDES) for of in (kept, keeps))
        return Change(known.image, replace(operator, id=at), store, replace(target, families=families), before, after, None)
    target = replace(target, families=joins.families(kept, keeps, sides))
    changed = [side for side, made in sides.items() if made.changes]
    aggregates = tuple(column for side in changed for column in sides[side].aggregates)
    gaps = tuple(dict.fromkeys(gap for side in changed for gap in sides[side].gaps))
    before, after = (_told(of, changed) for of in (kept, keeps))
    return Change(known.image, replace(operator, id=at), store, target, before, after, ByColumns(aggregates, (), True, gaps))


def _told(keeps: Keeps, sides: Sequence[str]) -> str:
    """The columns of the sides: `left: k string, n long`."""
    values = {side: dict(keeps.families[joins.of_side(keeps.families, side)[0]][1]) for side in sides}
    return "; ".join(f"{side}: {state_schema.ddl(value)}" for side, value in values.items())


def _is_for_function(placed: Placed, operator: Operator, at: int, planning: Planning) -> bool:
    """Whether a function makes the rows of a join; raises Unsupported for a format of joins that is not known."""
    if state_changes.is_left(placed, operator, at, planning):
        return False
    known, query = placed.known, placed.known.image.query
    joins.check_format(query, planning.operators(NEW, query)[at], known.kept[operator.id], known.new[at])
    return True


def _by_function(target: Target, side: str, kind: str, name: str) -> Target:
    """Of the rows of a side, which are numbered anew, or of how many there are of a key."""
    if kind != ROWS:
        return replace(target, counts=f"{side}-{ROWS}")
    return replace(target, never_null=joins.never_null(_names(target.shape.value)), name=f"{name}.{side}", is_numbered=True)


def _by_columns(placed: Placed, operator: Operator, at: int, planning: Planning) -> Mapping[str, ByColumns]:
    """How each side's rows are made; nothing where the state is left as it is, which Spark takes."""
    known, query = placed.known, placed.known.image.query
    then, now = planning.operators(OLD, query).get(operator.id), planning.operators(NEW, query)[at]
    kept, keeps = known.kept[operator.id], known.new[at]
    try:
        joins.check(query, now, kept, keeps)
        stores = {side: f"{side}-{ROWS}" for side in SIDES}
        if kept.families:
            before = joins.values(kept)
        else:
            shapes = {side: migration.shape(placed.checkpoint, known.image, operator, store) for side, store in stores.items()}
            before = {side: _names(shape.value) for side, shape in shapes.items()}
        return joins.by_columns(query, then if contracts.fits(known.kept, known.old) else None, now, before)
    except Unsupported:
        if contracts.types(kept) == contracts.types(keeps):
            return {}
        raise


def _spread_by(kind: str, shape: Shape) -> int:
    """The number of a row is part of its key, and of nothing that says where it is."""
    return len(_names(shape.key)) - 1 if kind == ROWS else 0


def _names(struct: str) -> list[str]:
    return migrated_columns.once([field["name"] for field in read_json(struct)["fields"]])
