"""What the operators of a checkpoint keep, read from Spark's metadata and schema files: of a savepoint, or of code planned on nothing."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.checkpoint import listing, operators, state_schema, variables
from pipelines.checkpoint.listing import Listing
from pipelines.domain.contracts import Contract, Keeps
from pipelines.storage.protocol import Storage


def read(storage: Storage, batch: int) -> Contract:
    """The contract of the checkpoint at the root of `storage`; raises Corrupt, Unsupported."""
    files = listing.listed(storage)
    return {operator.id: _keeps(storage, files, operator, batch) for operator in operators.read(storage, files, batch)}


def _keeps(storage: Storage, files: Listing, operator: operators.Operator, batch: int) -> Keeps:
    path = operators.metadata_path(files, operator.id, batch)
    named = variables.parse(path, storage.read(path)) if path else ()
    return Keeps(operator.name, dict(_columns(storage, files, operator)), {variable.name: variable.kind for variable in named})


def _columns(storage: Storage, files: Listing, operator: operators.Operator) -> Iterator[tuple[str, str]]:
    paths = [entry.path for entry in files.below(operators.folder(operator.id))]
    for store in operator.stores:
        path = state_schema.path(paths, operator.id, store)
        for schema in state_schema.parse(path, storage.read(path)) if path else ():
            place = f"{store} {schema.family}".strip()
            yield f"{place} key", schema.key
            yield f"{place} value", schema.value
