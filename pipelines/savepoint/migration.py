"""The plan of migrating a savepoint's state, and what its stores are made of before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pipelines.checkpoint import listing, operators, variables
from pipelines.domain import dropping, migrations, operator_places
from pipelines.domain.conversions import Shape
from pipelines.domain.migrations import MigrationPlan
from pipelines.domain.rewrites import OperatorKey
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.savepoint import conversion, layout
from pipelines.savepoint.rescaling import Held, sizes
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Entry


def plan(held: Held, by: str, spark_version: str = "", drop: tuple[str, ...] = (), told: Mapping[str, str] | None = None) -> MigrationPlan:
    """The plan of migrating the state of `held`; `spark_version` is that of the Spark that will do it, where it is known; `drop` and `told`
    are names of operators, as the user gives them. Raises Invalid (`map.operator`, `drop.unknown`) for what is told of what the savepoint
    does not have, Corrupt for metadata of an operator that is none."""
    operator_places.check_told(held.images, told or {})
    check_dropped(held, drop)
    return replace(migrations.decide(held.images, sizes(held), by, spark_version), drop=drop, told=told or {})


def check_dropped(held: Held, drop: tuple[str, ...]) -> None:
    """Raises Invalid (`drop.unknown`) for what is to be dropped and is not there; Corrupt for metadata of an operator that is none."""
    if drop:
        begun = [image for image in held.images if image.begun]
        dropping.check(list(dropping.names(begun, {key: names for image in begun for key, names in _variables(held, image)})), drop)


def _variables(held: Held, image: QueryImage) -> Iterator[tuple[OperatorKey, tuple[str, ...]]]:
    """The names of the state variables of each operator that has some."""
    home = f"{layout.checkpoint(image.query)}/"
    files = listing.of(Entry(path.removeprefix(home), file.bytes, 0) for path, file in held.files.items() if path.startswith(home))
    for operator in image.operators:
        path = operators.metadata_path(files, operator.id, image.batch) if operator.name in operator_places.VARIABLES else None
        if path is not None:
            yield (image.query, operator.id), tuple(variable.name for variable in variables.parse(path, held.read(home + path)))


def shape(checkpoint: str, image: QueryImage, operator: Operator, store: str = "") -> Shape:
    """What a store of an operator, its first if none is named, is made of in a checkpoint, or where its code was planned; raises Corrupt,
    Unsupported."""
    storage, name = open_storage(checkpoint), store or operator.stores[0]
    files = listing.listed(storage)
    path = operators.metadata_path(files, operator.id, image.batch)
    prefixes = operators.prefixes(path, storage.read(path)) if path else {}
    return conversion.shape(storage, files, image, operator, name, prefixes.get(name, 0))
