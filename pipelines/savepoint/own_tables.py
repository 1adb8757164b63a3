"""Queries that read the Delta or Iceberg table which another query of their job writes: as `own_reads`, of tables.

A Delta stream knows its place by the versions of one table, an Iceberg stream by snapshots of `main`. A fork's table begins with its
parent's versions up to the savepoint, so the place is right there as long as the reader was not ahead; a branch is read by no stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import TypeVar

from pipelines.domain import delta, offsets
from pipelines.domain.errors import Conflict
from pipelines.domain.iceberg import MAIN, newest_batch
from pipelines.domain.ids import QueryName
from pipelines.domain.placeholders import OUTPUT
from pipelines.domain.savepoints import QueryImage
from pipelines.savepoint import delta_tables, held_tables, iceberg_tables, sinks
from pipelines.savepoint.sink_places import Arguments, moves_table, plain, table_folder
from pipelines.savepoint.sinks import Decision

T = TypeVar("T")
OWN_JOBS = "Give the queries a job each, and fork those: streams read main alone."
AS_READ = "a query of its job reads it as a stream, from a place that the parent's does not have"


def ahead(images: Sequence[QueryImage]) -> QueryName | None:
    """A query that has read what its writer wrote to a table after its own batch; None where there is none."""
    for writer in images:
        for reader in _readers(images, writer):
            if any(_is_ahead(place, writer) for place in _places(reader, writer)):
                return reader.query
    return None


def reader(images: Sequence[QueryImage], writer: QueryImage) -> QueryName | None:
    """Another query of the job that reads the query's table."""
    return next((image.query for image in _readers(images, writer)), None)


def forked(images: Sequence[QueryImage], writer: QueryImage, arguments: Arguments, decided: Decision) -> Decision:
    """What is decided of the writer's table in a fork, refused where the fork's reader would not find there what its parent's had read."""
    readers, action = _readers(images, writer), decided.plan.action
    if not readers or action == "refuse":
        return decided
    reads = f"Query {readers[0].query} reads the table {_folder(writer)}, which query {writer.query} writes"
    if iceberg_tables.is_table(writer):
        why = "the fork has none of it elsewhere" if action == "none" else "the fork writes to a branch, and its code reads main"
        return sinks.refused(writer, "restore.own_read", f"{reads}: {why}.", OWN_JOBS)
    if not moves_table(writer, arguments):
        hint = f"Give the table's folder within {OUTPUT} in the arguments: the fork's code then writes and reads its own."
        return sinks.refused(writer, "restore.own_read", f"{reads}: the fork's code would still read its parent's.", hint)
    if action != "continue" and any(image.begun for image in readers):
        hint = f"Let the sink of {writer.query} continue."
        return sinks.refused(writer, "restore.own_read", f"{reads}: nothing of that would be in the fork's.", hint)
    return decided


def refused_going_back(images: Sequence[QueryImage]) -> Conflict | None:
    """The refusal of going back in time where a table would, that another query of the job reads."""
    for writer in images:
        query = reader(images, writer)
        if query is not None and _has_later(writer):
            message = f"Query {query} reads the table {_folder(writer)}, which query {writer.query} writes, and it would go back"
            why, hint = _back(writer)
            return Conflict("restore.own_read", f"{message}: {why}.", hint)
    return None


def _has_later(writer: QueryImage) -> bool:
    if writer.snapshot is None:
        return delta_tables.has_later(writer)
    table = iceberg_tables.now(writer)
    return not isinstance(table, str) and newest_batch(table, writer.snapshot.branch, writer.query_id) > writer.batch


def _back(writer: QueryImage) -> tuple[str, str]:
    """Why a table that is read does not go back, and what to do instead."""
    if writer.snapshot is not None:
        return "it does so as its writer starts, and a reader that starts before reads what is taken back", "Give the queries a job each."
    why = "the versions that are taken back stay in its log, where a stream reads them or ends"
    return why, "Fork instead, with the table's folder in the fork's arguments."


def of_others(images: Sequence[QueryImage]) -> tuple[QueryImage, ...]:
    """The queries without the sources that read tables of their own job: in a fork those are tables of its own."""
    return tuple(_of_others(image, [_folder(writer) for writer in images if writer.query != image.query]) for image in images)


def _of_others(image: QueryImage, own: Sequence[str]) -> QueryImage:
    if len(image.tables) != len(image.offsets):
        return image
    others = [not (table and plain(table) in own) for table in image.tables]

    def kept(noted: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(compress(noted, others))

    return replace(image, offsets=kept(image.offsets), tables=kept(image.tables), sources=kept(image.sources), brokers=kept(image.brokers))


def _readers(images: Sequence[QueryImage], writer: QueryImage) -> list[QueryImage]:
    folder = _folder(writer)
    return [image for image in images if folder and image.query != writer.query and folder in map(plain, image.tables)]


def _folder(writer: QueryImage) -> str:
    """Of the table that other queries may read: an Iceberg table's, where it is written to `main`."""
    if writer.snapshot is not None:
        return iceberg_tables.folder(writer.sink, writer.sink_path) if writer.snapshot.branch == MAIN else ""
    return table_folder(writer)


def _places(image: QueryImage, writer: QueryImage) -> list[offsets.Position]:
    """Where the reader stands in the writer's table."""
    read = (offset for offset in image.offsets if plain(held_tables.table(image, offset) or "-") == _folder(writer))
    return [place for offset in read if (place := offsets.in_table(offset.offset)) is not None]


def _is_ahead(place: offsets.Position, writer: QueryImage) -> bool:
    if isinstance(place, delta.Position):
        newest = writer.table.version if writer.table is not None else None
        last = place.version if place.in_snapshot or place.read else place.version - 1
        return newest is not None and newest >= 0 and last > newest
    table = iceberg_tables.now(writer)
    if isinstance(table, str) or writer.snapshot is None or writer.snapshot.left:
        return False
    return place.begun and place.snapshot not in {snapshot.id for snapshot in table.line(writer.snapshot.snapshot)}
