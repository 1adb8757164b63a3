"""Rewriting a restored copy's state before its run starts: what rescaling does, and where it is refused.

Measured with Spark 4.3.0, whose `StreamingCheckpointManager.repartition` does the work:

- It writes a batch of its own after the last one: the same offsets and watermark, state with other partitions, no rows for the sink.
- RocksDB alone; the HDFS-backed store answers UNSUPPORTED_PROVIDER, a query without state MISSING_OPERATOR_METADATA.
- It takes every operator for one that is spread by its key. Of an operator that always has one partition (an aggregation without a key, a
  limit) it moves the row to a partition that the query never reads: the sum begins at nothing, without an error. A query of such operators
  alone stays as it is beside others; one that has others, too, is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.domain.bounds import Batch, Count
from pipelines.domain.errors import Conflict, Refusal, TidemarkError, Unsupported, refusal
from pipelines.domain.ids import QueryName
from pipelines.domain.operators import PARTITIONS_CONF
from pipelines.domain.savepoints import Operator, QueryImage

MOST_PARTITIONS = 10_000
ROCKSDB = "rocksdb"
FIRST_SPARK = (4, 3)
"""The first Spark that repartitions state."""

OperatorKey = tuple[QueryName, int]


@dataclass(frozen=True)
class OperatorRewrite:
    """One stateful operator whose state is rewritten."""

    query: QueryName
    operator: Count
    name: str
    """Spark's (`stateStoreSave`, `symmetricHashJoin`)."""
    stores: Count
    partitions: Count
    """Before."""
    bytes: Count
    """Of its state files, all of which are read, and written anew."""


def of_all(images: Iterable[QueryImage], sizes: Mapping[OperatorKey, int]) -> tuple[OperatorRewrite, ...]:
    """Of each operator of `images`; `sizes` has the bytes of each one's state files."""
    return tuple(
        OperatorRewrite(image.query, of.id, of.name, len(of.stores), of.partitions, sizes.get((image.query, of.id), 0))
        for image in images
        for of in image.operators
    )


class Rewriting:
    """A plan that rewrites operators."""

    operators: tuple[OperatorRewrite, ...]

    @property
    def bytes(self) -> int:
        return sum(operator.bytes for operator in self.operators)


@dataclass(frozen=True)
class RewritePlan(Rewriting):
    """What rescaling a restored copy will do."""

    partitions: Count
    """After."""
    operators: tuple[OperatorRewrite, ...] = ()
    batches: Mapping[QueryName, Batch] = field(default_factory=dict)
    """Query -> the batch that Spark writes for it: its checkpoint's last one then, which the sink has no rows of."""
    left: tuple[str, ...] = ()
    """Queries that stay as they are, each with why."""
    refusal: Refusal | None = None


def decide(
    images: Sequence[QueryImage],
    sizes: Mapping[OperatorKey, int],
    keyless: Collection[OperatorKey],
    partitions: int,
    spark_version: str,
) -> RewritePlan:
    """The plan of rescaling what `images` show. `sizes` has the bytes of each operator's state files; `keyless` are the operators that have
    one partition however many there are."""
    spread = [image for image in images if any((image.query, operator.id) not in keyless for operator in image.operators)]
    others = [image for image in images if any(operator.partitions != partitions for operator in image.operators)]
    changed = [image for image in others if image in spread or not spread]
    refused = next(_refusals(images, changed, keyless, partitions, spark_version), None)
    return RewritePlan(
        partitions=partitions,
        operators=of_all(changed, sizes),
        batches={image.query: image.batch + 1 for image in changed},
        left=tuple(_left(image, partitions, image in others) for image in images if image not in changed),
        refusal=refusal(refused) if refused else None,
    )


def _refusals(
    images: Sequence[QueryImage], changed: Sequence[QueryImage], keyless: Collection[OperatorKey], partitions: int, spark_version: str
) -> Iterator[TidemarkError]:
    if not any(image.operators for image in images):
        hint = f"Its shuffles are no state: resume or fork it with --conf {PARTITIONS_CONF}={partitions}."
        yield Conflict("rescale.no_state", "No query of it keeps any state, so there is none to rescale", hint)
    elif not changed:
        yield Conflict("rescale.same", f"All of its state has {partitions} partitions already", "Nothing needs to be done.")
    for image in changed:
        if image.provider != ROCKSDB:
            yield _store(image)
        for operator in image.operators:
            if (image.query, operator.id) in keyless:
                yield _keyless(image, operator)
            if not operator.name:
                yield _unnamed(image)
    if changed and version_of(spark_version) < FIRST_SPARK:
        message = f"Its state was written by Spark {spark_version}, and Spark rescales state from {dotted(FIRST_SPARK)} on"
        yield Unsupported("rescale.spark", message, "Resume it on that Spark first (--runtime); rescale it when it has run there.")


def _store(image: QueryImage) -> Unsupported:
    message = f"Query {image.query} keeps its state in the HDFS-backed store, and Spark rescales RocksDB alone"
    hint = "Fork it with --store rocksdb, which converts its state; --partitions can be given with it."
    return Unsupported("rescale.store", message, hint)


def _keyless(image: QueryImage, operator: Operator) -> Unsupported:
    name = operator.name or "without a name"
    message = (
        f"Operator {operator.id} ({name}) of query {image.query} has no key to spread its state by, so it has one partition always; "
        "Spark's rescaling would put its row where the query does not look"
    )
    return Unsupported("rescale.keyless", message, "Group by a key, or leave the query's partitions as they are.")


def _unnamed(image: QueryImage) -> Unsupported:
    message = f"The checkpoint of query {image.query} was begun by a Spark that did not yet say what its operators are"
    return Unsupported("rescale.metadata", message, "A query that is begun on Spark 4.0 or later can be rescaled.")


def _left(image: QueryImage, partitions: int, is_other: bool) -> str:
    if is_other:
        return f"{image.query} keeps state without a key, which has one partition always"
    if not image.begun:
        return f"{image.query} has not begun: it begins with {PARTITIONS_CONF} as its confs say"
    if not image.operators:
        return f"{image.query} keeps no state"
    return f"{image.query} has {partitions} partitions already"


def version_of(text: str) -> tuple[int, ...]:
    """The first two numbers of a Spark's version; of one that does not tell, the first that rewrites."""
    numbers = text.split(".")[:2]
    return tuple(int(number) for number in numbers) if all(number.isdigit() for number in numbers) else FIRST_SPARK


def dotted(version: tuple[int, ...]) -> str:
    """`(4, 3)` as `4.3`."""
    return ".".join(map(str, version))
