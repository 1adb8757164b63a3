"""State variables of a restored copy whose rows are rewritten for changed code, by what Spark planned of it.

They are in one store, which is written anew as a whole: those that are as they were, timers and indexes of times to live as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pipelines.checkpoint import listing, operators, state_schema
from pipelines.domain import operator_places, state_variables
from pipelines.domain.contracts import Keeps
from pipelines.domain.conversions import Shape
from pipelines.domain.errors import Corrupt
from pipelines.domain.migrations import ByColumns
from pipelines.domain.savepoints import Operator
from pipelines.sandbox.migrations import Target
from pipelines.storage.addresses import open_storage
from pipelines.workspace import placements, state_changes
from pipelines.workspace.placements import Placed
from pipelines.workspace.state_changes import Change


def decided(
    placed: Placed,
    operator: Operator,
    at: int,
    drop: Collection[str],
    told: Mapping[str, str],
    folder: Path,
    *,
    by_function: bool = False,
) -> Iterator[Change]:
    """The store of an operator with variables that Spark would not read as they are meant, or whose rows a function makes.

    Raises Unsupported (`migrate.operators`), Invalid (`map.operator`)."""
    known, image = placed.known, placed.known.image
    kept, keeps = known.kept[operator.id], known.new[at]
    dropped = placements.dropped(image.query, operator.id, kept, drop)
    renamed = operator_places.renamed(image.query, told, operator.id, at, kept, keeps)
    restarted = [name for name in dropped if name in keeps.variables and name not in renamed]
    if state_variables.is_avro(image.conf):
        if restarted or renamed:
            raise state_variables.refused(image.query, operator.id, "its state is kept in Avro, which Spark alone rewrites")
        return
    decide = state_variables.by_function if by_function else state_variables.by_names
    made = decide(image.query, operator.id, kept, keeps, dropped=dropped, renamed=renamed)
    if not made.changes:
        return
    by_columns = ByColumns(made.variables, (), True)
    contract = state_changes.contract(placed, folder)
    made_of = shape(contract, operator, at, operator.stores[0])
    target = Target(made_of, state_changes.described(contract, at), name=operator_places.name_of(image.query, at), families=made.families)
    store = state_changes.store(placed, operator, at, operator.stores[0])
    yield Change(image, replace(operator, id=at), store, target, _columns(kept), _columns(keeps), by_columns)


def shape(contract: Path, operator: Operator, at: int, store: str) -> Shape:
    """Of a store with column families what the new code has of it; raises Corrupt (`migrate.schema`)."""
    files = listing.listed(open_storage(str(contract)))
    path = state_schema.path((entry.path for entry in files.below(operators.folder(at))), at, store)
    if path is None:
        raise Corrupt("migrate.schema", f"Spark wrote no schema of what operator {at} would keep", "Look at the sandbox's log.")
    return Shape(operator.partitions, "", "", 0, "", families=str(contract / path))


def _columns(keeps: Keeps) -> str:
    """The variables with their columns: `count: n long; last: n long`."""
    values = ((name, keeps.families[name][1]) for name in keeps.variables if name in keeps.families)
    return "; ".join(f"{name}: {state_schema.ddl(dict(value))}" for name, value in values)
