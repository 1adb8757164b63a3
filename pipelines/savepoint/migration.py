"""The plan of migrating a savepoint's state, and what its stores are made of before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pipelines.checkpoint import listing, operators
from pipelines.domain import migrations, operator_places
from pipelines.domain.conversions import Shape
from pipelines.domain.migrations import MigrationPlan
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.savepoint import conversion
from pipelines.savepoint.rescaling import Held, sizes
from pipelines.storage.addresses import open_storage


def plan(held: Held, by: str, spark_version: str = "", drop: tuple[str, ...] = (), told: Mapping[str, str] | None = None) -> MigrationPlan:
    """The plan of migrating the state of `held`; `spark_version` is that of the Spark that will do it, where it is known; `drop` and `told`
    are names of operators, as the user gives them. Raises Invalid (`map.operator`) for what is told of what the savepoint does not have."""
    operator_places.check_told(held.images, told or {})
    return replace(migrations.decide(held.images, sizes(held), by, spark_version), drop=drop, told=told or {})


def shape(checkpoint: str, image: QueryImage, operator: Operator, store: str = "") -> Shape:
    """What a store of an operator, its first if none is named, is made of in a checkpoint, or where its code was planned; raises Corrupt,
    Unsupported."""
    storage, name = open_storage(checkpoint), store or operator.stores[0]
    files = listing.listed(storage)
    path = operators.metadata_path(files, operator.id, image.batch)
    prefixes = operators.prefixes(path, storage.read(path)) if path else {}
    return conversion.shape(storage, files, image, operator, name, prefixes.get(name, 0))
