"""A parent that goes on with what its variant has: whose query goes on as which, and how each of its Delta and
Iceberg tables becomes the variant's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pipelines.domain.bounds import Long
from pipelines.domain.delta_commits import BACK_FORMAT, Back
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.sinks import BACK
from pipelines.savepoint import delta_tables, iceberg_sinks, iceberg_tables, restored_sinks, sinks
from pipelines.savepoint.restored_sinks import RestoredSink


@dataclass(frozen=True)
class Adopting:
    """A query of the parent: its id, the folder of its Delta or Iceberg table (empty for another sink), and the table's version or snapshot
    at which it and the variant's parted (None where nobody noted it). `hindrance`: why its table cannot become the variant's."""

    query_id: str
    table: str = ""
    since: Long | None = None
    hindrance: str = ""
    branch: str = ""
    """Of an Iceberg table."""


def of(manifest: Manifest, queries: Mapping[QueryName, Adopting]) -> tuple[RestoredSink, ...]:
    return tuple(sink_of(image, queries[image.query]) for image in manifest.queries)


def sink_of(image: QueryImage, query: Adopting) -> RestoredSink:
    """How the sink of the variant's `image` goes on as the parent's."""
    if iceberg_tables.is_table(image):
        turn = iceberg_tables.adopt(image, query.table, query.branch, query.query_id, query.since)
        return restored_sinks.of_branch(image, iceberg_sinks.adopted(image, query.hindrance or turn, query.table))
    decision = sinks.for_swap(image, query.table, hindrance(image, query))
    if decision.plan.action != "swap" or image.table is None or query.since is None:
        return RestoredSink(image, decision)
    back = Back(BACK_FORMAT, query.query_id, image.batch, query.since, image.table.version, query.table)
    return RestoredSink(image, decision, written={BACK: json.dumps(asdict(back)).encode()}, table=True)


def hindrance(image: QueryImage, query: Adopting) -> str:
    """Why the parent's table, as it is now, cannot become the variant's; empty where it can, or there is none."""
    if not sinks.is_table(image):
        return ""
    if query.hindrance or not query.table:
        return query.hindrance or "the parent writes to no Delta table in a folder"
    if image.table is None or image.table.left:
        return image.table.left if image.table else "the savepoint does not hold the variant's"
    if query.since is None:
        return "the savepoint at which they parted did not note its version"
    return delta_tables.swap_hindrance(image, query.table, query.query_id, query.since)
