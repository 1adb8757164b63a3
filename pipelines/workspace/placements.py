"""Where the state of a query's operators and the offsets of its sources go under changed code, and what is dropped, decided from what Spark
planned of both codes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.checkpoint import listing, operators, state_schema
from pipelines.checkpoint.listing import Listing
from pipelines.domain import contracts, deduplications, operator_places, state_variables
from pipelines.domain.contracts import Keeps
from pipelines.domain.conversions import HDFS, IN_PANDAS, SESSIONS, Shape
from pipelines.domain.errors import Unsupported
from pipelines.domain.ids import folder_of
from pipelines.domain.json_text import read_json
from pipelines.domain.judging import Known
from pipelines.domain.migrations import AGGREGATION
from pipelines.domain.operator_places import LIMIT, PLACED, VARIABLES, Placement, Places, name_of
from pipelines.domain.operators import JOIN
from pipelines.domain.plannings import CONTRACT, NEW, OLD, Planning
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.sandbox.counts import Store
from pipelines.sandbox.migrations import Placing
from pipelines.savepoint import conversion
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.workspace import source_offsets
from pipelines.workspace.source_offsets import PlacedSources

KEEP = "Keep the operators as they were, or begin the query anew under another name."
MIGRATED = (AGGREGATION, SESSIONS, JOIN, IN_PANDAS, *deduplications.KINDS)
SCHEMA = "/schema"


@dataclass(frozen=True)
class Placed:
    """Where the operators and sources of one query go."""

    known: Known
    checkpoint: str
    places: Places
    placements: tuple[Placement, ...]
    placing: Placing | None
    """For the sandbox; None where all operators stay where they are."""
    lost: tuple[str, ...]
    """Names of what is dropped."""
    sources: PlacedSources

    @property
    def is_placed(self) -> bool:
        """Whether operators or sources come, go or move, so that what is computed of them may be another."""
        return self.placing is not None or bool(self.sources.placements)

    def operators(self) -> Iterator[tuple[Operator, int]]:
        """Each operator whose state is kept, as the savepoint has it, with its number in the new code."""
        before = {operator.id: operator for operator in self.known.image.operators}
        yield from ((before[old], at) for at, old in sorted(self.places.pairs.items()))


def decide(known: Known, planning: Planning, drop: Collection[str], told: Mapping[str, str], checkpoint: str, folder: Path) -> Placed:
    """Where the operators and sources of a query go; its contract under the new code is in `folder`, its copy in `checkpoint`.

    Raises Invalid (`map.operator`, `map.source`), Unsupported (`migrate.ambiguous`, `migrate.operators`, `migrate.sources`)."""
    image, query = known.image, known.image.query
    then, now = (planning.operators(side, query) for side in (OLD, NEW))
    gone = {operator for operator in known.kept if name_of(query, operator) in drop}
    then = then if contracts.fits(known.kept, known.old) else {}
    places = operator_places.place(known.kept, known.new, then, now, gone, operator_places.mapped(query, told))
    _refuse_ambiguous(image, known, places)
    _refuse_columns(image, known, places)
    moves = tuple(operator_places.placements(query, known.kept, known.new, places))
    contract = folder / NEW / CONTRACT / folder_of(query)
    placing = _placing(image, places, moves, checkpoint, contract) if moves else None
    sources = source_offsets.decide(image, planning, drop, told)
    names = (name_of(query, operator) for operator in places.dropped)
    lost = (*names, *_variables(query, known, places, drop, told), *sources.lost)
    return Placed(known, checkpoint, places, moves, placing, lost, sources)


def _refuse_ambiguous(image: QueryImage, known: Known, places: Places) -> None:
    before, after = places.ambiguous
    if not before and not after:
        return
    olds = ", ".join(f"{name_of(image.query, old)} ({known.kept[old].name})" for old in before)
    message = f"Which operator goes on as which cannot be told: {olds} before, {', '.join(name_of(image.query, at) for at in after)} now"
    hint = f"Say it (--map {name_of(image.query, before[0])}={name_of(image.query, after[0])}), or drop what is gone (--drop)."
    raise Unsupported("migrate.ambiguous", message, hint)


def _refuse_columns(image: QueryImage, known: Known, places: Places) -> None:
    """Of other operators than those the columns stay as they are; which variables an operator has is Spark's to
    judge."""
    for at, old in places.pairs.items():
        kept, keeps = known.kept[old], known.new[at]
        if kept.name not in MIGRATED and not kept.variables and contracts.types(kept) != contracts.types(keeps):
            message = (
                f"{name_of(image.query, old)} ({kept.name}) keeps other columns than before, and those of aggregations, sessions, joins, "
                "deduplications, applyInPandasWithState and state variables alone are migrated"
            )
            hint = f"Keep it as it was; or drop its state, so that it begins empty: --drop {name_of(image.query, old)}."
            raise Unsupported("migrate.operators", f"{message}: {'; '.join(contracts.differences(kept, keeps))}", hint)


def _variables(query: str, known: Known, places: Places, drop: Collection[str], told: Mapping[str, str]) -> Iterator[str]:
    """Names of the state variables that are dropped."""
    for at, old in places.pairs.items():
        kept, keeps = known.kept[old], known.new[at]
        lost = state_variables.lost(
            kept, keeps, dropped(query, old, kept, drop), operator_places.renamed(query, told, old, at, kept, keeps)
        )
        yield from (operator_places.variable_name(query, old, name) for name in lost)


def dropped(query: str, operator: int, kept: Keeps, drop: Collection[str]) -> tuple[str, ...]:
    """The state variables of an operator that are to be dropped, by what the user named."""
    return tuple(name for name in kept.variables if operator_places.variable_name(query, operator, name) in drop)


def _placing(image: QueryImage, places: Places, moves: tuple[Placement, ...], checkpoint: str, contract: Path) -> Placing:
    if not image.operators:
        message = f"Query {image.query} keeps no state yet, and would begin to: nothing says in which store"
        raise Unsupported("migrate.operators", message, KEEP)
    storage = open_storage(str(contract))
    files = listing.listed(storage)
    added: list[tuple[Store, Shape]] = []
    for move in moves:
        if move.after is not None:
            operator = _measured(image, move, storage, files)
            added += _empty(image, operator, checkpoint, contract, storage, files) if move.before is None else ()
    moved = tuple((old, at) for at, old in sorted(places.pairs.items()))
    stores, shapes = tuple(store for store, _ in added), tuple(shape for _, shape in added)
    return Placing(checkpoint, image.batch, str(contract / operators.FOLDER), moved, stores, shapes)


def _measured(image: QueryImage, move: Placement, storage: Storage, files: Listing) -> Operator:
    """An operator as the new code has it; raises Unsupported for one that was not measured in another place, or begun empty."""
    assert move.after is not None
    path = operators.metadata_path(files, move.after, 0)
    families = [len(state_schema.structs(name, storage.read(name))) for name in _schemas(files, move.after)]
    is_moved_limit = move.name == LIMIT and move.before is not None
    is_other = move.name not in (*VARIABLES, JOIN) and max(families, default=2) > 1
    if move.name not in PLACED or is_moved_limit or path is None or is_other:
        message = f"A {move.name} of query {image.query} comes in another place, or anew, and that was not measured"
        raise Unsupported("migrate.operators", message, f"What can be: {', '.join(PLACED.values())}. {KEEP}")
    read = operators.read_one(storage, files, move.after, 0)
    return Operator(move.after, read.name, read.partitions, read.stores)


def _schemas(files: Listing, operator: int) -> Iterator[str]:
    return (entry.path for entry in files.below(operators.folder(operator)) if entry.path.endswith(SCHEMA))


def _empty(
    image: QueryImage, operator: Operator, checkpoint: str, contract: Path, storage: Storage, files: Listing
) -> Iterator[tuple[Store, Shape]]:
    """The stores of an operator that begins empty, with what they are made of."""
    path = operators.metadata_path(files, operator.id, 0)
    prefixes = operators.prefixes(path, storage.read(path)) if path else {}
    for name in operator.stores:
        if operator.name in VARIABLES or (operator.name == JOIN and name == operators.DEFAULT_STORE):
            shape = _of_families(image, operator, contract, files, name)
        else:
            shape = conversion.shape(storage, files, image, operator, name, prefixes.get(name, 0))
            if operator.name == LIMIT or not read_json(shape.key)["fields"]:
                shape = replace(shape, partitions=1)  # whatever Spark's metadata says
        yield Store.of(image, checkpoint, operator.id, operator.name, name), shape


def _of_families(image: QueryImage, operator: Operator, contract: Path, files: Listing, store: str) -> Shape:
    """Of a store with column families: state variables, or a join in formats 3 and 4."""
    path = state_schema.path((entry.path for entry in files.below(operators.folder(operator.id))), operator.id, store)
    if path is None or image.provider == HDFS:
        message = f"A {operator.name} of query {image.query} would begin in a store that has no column families"
        raise Unsupported("migrate.operators", message, f"Move its state to RocksDB first (--store rocksdb). {KEEP}")
    return Shape(operator.partitions, "", "", 0, "", families=str(contract / path))
