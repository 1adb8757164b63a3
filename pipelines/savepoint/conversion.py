"""The plan of converting a savepoint's state to another store, and what the stores of a copy of it are made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from pipelines.checkpoint import damage, listing, operators, state_schema
from pipelines.checkpoint.listing import Listing
from pipelines.domain import conversions
from pipelines.domain.conversions import ConversionPlan, Shape, StateStore
from pipelines.domain.savepoints import Operator, QueryImage
from pipelines.savepoint.rescaling import Held, sizes
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage

CODEC_CONF = "spark.sql.streaming.stateStore.compression.codec"
CODEC = "lz4"
"""Spark's default."""


def plan(held: Held, store: StateStore, spark_version: str = "") -> ConversionPlan:
    """The plan of converting the state of `held`; `spark_version` is that of the Spark that will do it, where it is known."""
    return conversions.decide(held.images, sizes(held), store, spark_version)


def converted(held: Held, plan: ConversionPlan) -> Held:
    """What `held` is after the plan."""
    images = [replace(image, provider=str(plan.store)) if image.query in plan.queries else image for image in held.images]
    return replace(held, images=images)


def shapes(checkpoint: str, image: QueryImage) -> Iterator[tuple[Operator, str, Shape]]:
    """Each store of the query at `checkpoint`, a restored copy of `image`: its operator, its name, its shape; raises Corrupt."""
    storage = open_storage(checkpoint)
    files = listing.listed(storage)
    for operator in image.operators:
        path = operators.metadata_path(files, operator.id, image.batch)
        prefixes = operators.prefixes(path, storage.read(path)) if path else {}
        for store in operator.stores:
            yield operator, store, shape(storage, files, image, operator, store, prefixes.get(store, 0))


def shape(storage: Storage, files: Listing, image: QueryImage, operator: Operator, store: str, prefix: int) -> Shape:
    """What a store of a checkpoint is made of, which `files` lists; raises Corrupt."""
    paths = [entry.path for entry in files.below(operators.folder(operator.id))]
    path = state_schema.path(paths, operator.id, store)
    if path is None:
        raise damage.missing(f"{operators.folder(operator.id)}/*/{store}/{operators.METADATA}/schema", "it says what the store holds")
    (structs,) = state_schema.structs(path, storage.read(path))
    codec = image.conf.get(CODEC_CONF, CODEC)
    return Shape(operator.partitions, json.dumps(structs.key), json.dumps(structs.value), prefix, codec)
