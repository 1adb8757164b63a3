"""The tables of a savepoint's state, from its manifest and its operators' metadata: no Spark is needed to name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipelines.checkpoint import operators, state_schema, variables
from pipelines.domain import joins
from pipelines.domain.joins import COUNTS, EVENT_TIME, ROWS, TIMED
from pipelines.domain.operators import JOIN
from pipelines.domain.savepoints import Manifest, Operator, QueryImage
from pipelines.domain.states import ALL_TIMERS, CLOCK_TIMERS, EVENT_TIMERS, StateTable
from pipelines.domain.struct_columns import Struct
from pipelines.savepoint import layout
from pipelines.storage.protocol import Storage

TRANSFORM = "transformWithState"
SIDES = ("left", "right")
TIMERS = "timers"
MAP = "map"
OF_THE_CLOCK = "$proc"
"""How Spark's name of timers begins that go by the clock."""


def tables(library: Storage, manifest: Manifest) -> tuple[StateTable, ...]:
    """Every table in the order of queries and operators, `operator_rows` and `reading` not known yet. Raises Corrupt, Unsupported."""
    return tuple(
        table for image in manifest.queries for operator in image.operators for table in _of_operator(library, manifest, image, operator)
    )


def _of_operator(library: Storage, manifest: Manifest, image: QueryImage, operator: Operator) -> Iterator[StateTable]:
    plain = [_table(manifest, image, operator, store) for store in operator.stores]
    if operator.name == JOIN:
        yield from _sides(manifest, image, operator)
        yield from (replace(table, internal=True) for table in plain if table.store != operators.DEFAULT_STORE)
    elif TRANSFORM in operator.name:
        yield from (named for table in plain for named in _named(library, manifest, image, operator, table))
    else:
        yield from plain


def _sides(manifest: Manifest, image: QueryImage, operator: Operator) -> Iterator[StateTable]:
    """The tables of a join: one a side, as Spark's `joinSide` reads it from two stores, or one (state formats from 3 on)."""
    for side in SIDES:
        own = [store for store in operator.stores if store.startswith(f"{side}-")] or list(operator.stores)
        size = sum(_bytes(manifest, image, operator, store) for store in own)
        yield replace(_table(manifest, image, operator, side), bytes=size)


def _table(manifest: Manifest, image: QueryImage, operator: Operator, store: str) -> StateTable:
    return StateTable(
        query=image.query,
        operator=operator.id,
        name=operator.name,
        store=store,
        variable="",
        kind="",
        internal=False,
        provider=image.provider,
        partitions=operator.partitions,
        batch=image.batch,
        bytes=_bytes(manifest, image, operator, store),
        operator_rows=None,
    )


def _bytes(manifest: Manifest, image: QueryImage, operator: Operator, store: str) -> int:
    """Bytes of a store's files in all partitions. The default store's are in the partition's folder, others' in a folder of their own."""
    base = f"{layout.checkpoint(image.query)}/{operators.folder(operator.id)}/"
    folders = {f"/{name}/" for name in operator.stores if name != operators.DEFAULT_STORE}
    size = 0
    for file in manifest.files:
        partition, slash, inside = file.path.removeprefix(base).partition("/")
        if file.path.startswith(base) and partition.isdigit() and slash:
            own = next((name for name in folders if f"/{inside}".startswith(name)), "")
            size += file.bytes if own.strip("/") == ("" if store == operators.DEFAULT_STORE else store) else 0
    return size


def _named(library: Storage, manifest: Manifest, image: QueryImage, operator: Operator, table: StateTable) -> Iterator[StateTable]:
    """A table for each state variable of the store, and one for its timers, in the operator's newest metadata; none where the checkpoint
    has no such metadata."""
    base = f"{layout.checkpoint(image.query)}/{operators.folder(operator.id)}/{operators.METADATA}/v2/"
    numbers = [path for file in manifest.files if (path := file.path).startswith(base) and path.removeprefix(base).isdigit()]
    if not numbers:
        return
    newest = max(numbers, key=lambda path: int(path.removeprefix(base)))
    data = library.read(layout.inside(manifest.id, newest))
    named = variables.parse(newest, data)
    yield from (replace(table, variable=variable.name, kind=variable.kind) for variable in named)
    if timers := variables.timers(newest, data):
        name = TIMERS if TIMERS not in {variable.name for variable in named} else ALL_TIMERS
        yield replace(table, variable=name, kind=CLOCK_TIMERS if timers.startswith(OF_THE_CLOCK) else EVENT_TIMERS)


def key_columns(library: Storage, manifest: Manifest, table: StateTable) -> Struct | None:
    """The columns of the table's keys, in Spark's JSON, without the event time that ends those of a join in format 4; None for timers and
    the parts of Spark's own layout. Raises Corrupt."""
    if table.is_timers or table.internal:
        return None
    is_side = _is_side(table)
    stores = (f"{table.store}-{COUNTS}", operators.DEFAULT_STORE) if is_side else (table.store,)
    families = _keys(library, manifest, table, stores)
    names = ("", f"{table.store}-{COUNTS}", f"{table.store}-{TIMED}") if is_side else (table.variable,)
    key = next((families[name] for name in names if name in families), None)
    if key is None:
        return None
    if table.kind == MAP:
        return dict(key["fields"][0]["type"])
    return {**key, "fields": [field for field in key["fields"] if not is_side or field["name"] != EVENT_TIME]}


def changed_in(library: Storage, manifest: Manifest, table: StateTable) -> tuple[str, str]:
    """The store, and the variable or column family in it, whose changes are the table's: of a side of a join, whose reader has no change
    feed, those of the rows that Spark keeps of it. Raises Corrupt."""
    if not _is_side(table):
        return table.store, table.variable
    operator = next(own for image in manifest.queries if image.query == table.query for own in image.operators if own.id == table.operator)
    rows = f"{table.store}-{ROWS}"
    if rows in operator.stores:
        return rows, ""
    families = _keys(library, manifest, table, (operators.DEFAULT_STORE,))
    return operators.DEFAULT_STORE, joins.of_side(families, table.store)[0]


def _is_side(table: StateTable) -> bool:
    return table.name == JOIN and table.store in SIDES


def _keys(library: Storage, manifest: Manifest, table: StateTable, stores: Sequence[str]) -> Mapping[str, Struct]:
    """Column family -> the columns of its keys, as the schema file of the first of the stores that has one says; none where none has."""
    base = f"{layout.checkpoint(table.query)}/"
    files = [file.path.removeprefix(base) for file in manifest.files if file.path.startswith(base)]
    path = next(filter(None, (state_schema.path(files, table.operator, store, table.batch) for store in stores)), None)
    if path is None:
        return {}
    return {kept.family: kept.key for kept in state_schema.structs(path, library.read(layout.inside(manifest.id, f"{base}{path}")))}
