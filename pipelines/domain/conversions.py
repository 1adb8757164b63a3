"""Another store for a restored copy's state before its run starts: from the HDFS-backed one, Spark's default, to RocksDB.

Keys and values are the same bytes in both; only the files around them differ. The batch stays the last one of the savepoint.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.errors import Conflict, Refusal, TidemarkError, Unsupported, refusal
from pipelines.domain.ids import QueryName
from pipelines.domain.operators import JOIN
from pipelines.domain.rewrites import FIRST_SPARK, ROCKSDB, OperatorKey, OperatorRewrite, Rewriting, dotted, of_all, version_of
from pipelines.domain.savepoints import Operator, QueryImage

HDFS = "hdfs"
IN_PANDAS = "applyInPandasWithState"
SESSIONS = "sessionWindowStateStoreSaveExec"
CONVERTED = {
    "stateStoreSave": "aggregation",
    SESSIONS: "session windows",
    "dedupe": "deduplication",
    "dedupeWithinWatermark": "deduplication within the watermark",
    JOIN: "join",
    IN_PANDAS: "`applyInPandasWithState`",
}
"""Spark's names of the operators whose outputs were measured to be equal afterwards -> what they are."""


class StateStore(enum.StrEnum):
    """What state can be converted to."""

    ROCKSDB = ROCKSDB


@dataclass(frozen=True)
class Shape:
    """What a store is made of, which its files do not say by themselves."""

    partitions: int
    key: str
    value: str
    """Structs, in Spark's JSON."""
    prefix: int
    """How many columns of the key it can be searched by."""
    codec: str
    """That its files are compressed with (`lz4`)."""
    families: str = ""
    """Of a store with state variables the path of Spark's file that says what each holds; key and value are empty then."""


@dataclass(frozen=True)
class ConversionPlan(Rewriting):
    """What converting a restored copy's state will do."""

    store: StateStore
    """After."""
    operators: tuple[OperatorRewrite, ...] = ()
    left: tuple[str, ...] = ()
    """Queries that stay as they are, each with why."""
    refusal: Refusal | None = None

    @property
    def queries(self) -> frozenset[QueryName]:
        """Those whose state is converted."""
        return frozenset(operator.query for operator in self.operators)


def decide(images: Sequence[QueryImage], sizes: Mapping[OperatorKey, int], store: StateStore, spark_version: str) -> ConversionPlan:
    """The plan of converting what `images` show. `sizes` has the bytes of each operator's state files."""
    changed = [image for image in images if image.provider == HDFS]
    refused = next(_refusals(changed, store, spark_version), None)
    return ConversionPlan(
        store=store,
        operators=of_all(changed, sizes),
        left=tuple(_left(image) for image in images if image not in changed),
        refusal=refusal(refused) if refused else None,
    )


def _refusals(changed: Sequence[QueryImage], store: StateStore, spark_version: str) -> Iterator[TidemarkError]:
    if not changed:
        yield Conflict("convert.same", f"None of its state is in another store than {store}", "Leave --store out.")
    for image in changed:
        for operator in image.operators:
            if operator.name not in CONVERTED:
                yield _other(image, operator)
    if changed and version_of(spark_version) < FIRST_SPARK:
        message = f"Its state was written by Spark {spark_version}, and state is converted from {dotted(FIRST_SPARK)} on"
        yield Unsupported("convert.spark", message, "Resume it on that Spark first (--runtime); convert it when it has run there.")


def _other(image: QueryImage, operator: Operator) -> Unsupported:
    name = operator.name or "without a name"
    message = f"Operator {operator.id} ({name}) of query {image.query} cannot be converted to another store"
    return Unsupported("convert.operator", message, f"What can be: {', '.join(CONVERTED.values())}. Leave --store out.")


def _left(image: QueryImage) -> str:
    if not image.begun:
        return f"{image.query} has not begun: it begins with the store that its confs say"
    return f"{image.query} {'keeps no state' if not image.operators else 'has its state there already'}"
