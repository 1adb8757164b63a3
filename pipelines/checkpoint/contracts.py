"""What the operators of a checkpoint keep, read from Spark's metadata and schema files: of a savepoint, or of code planned on nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipelines.checkpoint import listing, operators, state_schema, variables
from pipelines.checkpoint.listing import Listing
from pipelines.checkpoint.state_schema import StoreStructs
from pipelines.domain.contracts import Contract, Keeps
from pipelines.storage.protocol import Storage


def read(storage: Storage, batch: int) -> Contract:
    """The contract of the checkpoint at the root of `storage`; raises Corrupt, Unsupported."""
    files = listing.listed(storage)
    return {operator.id: _keeps(storage, files, operator, batch) for operator in operators.read(storage, files, batch)}


def _keeps(storage: Storage, files: Listing, operator: operators.Operator, batch: int) -> Keeps:
    path = operators.metadata_path(files, operator.id, batch)
    named = variables.parse(path, storage.read(path)) if path else ()
    schemas = list(_schemas(storage, files, operator, batch))
    families = {schema.family: (schema.key, schema.value) for _, schema in schemas if schema.family}
    return Keeps(operator.name, dict(_columns(schemas)), {variable.name: variable.kind for variable in named}, families)


def _columns(schemas: Iterable[tuple[str, StoreStructs]]) -> Iterator[tuple[str, str]]:
    for store, schema in schemas:
        place = f"{store} {schema.family}".strip()
        yield f"{place} key", state_schema.ddl(schema.key)
        yield f"{place} value", state_schema.ddl(schema.value)


def _schemas(storage: Storage, files: Listing, operator: operators.Operator, batch: int) -> Iterator[tuple[str, StoreStructs]]:
    paths = [entry.path for entry in files.below(operators.folder(operator.id))]
    for store in operator.stores:
        path = state_schema.path(paths, operator.id, store, batch)
        yield from ((store, schema) for schema in (state_schema.structs(path, storage.read(path)) if path else ()))
