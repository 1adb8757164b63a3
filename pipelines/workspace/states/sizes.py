"""The sizes of a job's state by partition: of its savepoints from their manifests and readings, of its checkpoint from its files' names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipelines.checkpoint import logs, operators
from pipelines.checkpoint.closure import newest_committed
from pipelines.checkpoint.listing import listed
from pipelines.checkpoint.state_sizes import Written, written
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.savepoints import Manifest, Operator
from pipelines.domain.state_sizes import OperatorSizes, SavedSizes, WrittenSizes, in_order, partition_bytes
from pipelines.domain.states import StateTable, reading_id
from pipelines.savepoint import layout
from pipelines.savepoint import states as tables
from pipelines.storage.addresses import open_storage
from pipelines.verbs.state import ShowStateSizes
from pipelines.workspace import homes, readings, runs, savepoints, sources
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers

Key = tuple[QueryName, int]
Live = Mapping[Key, tuple[Operator, Mapping[int, Written]]]
NEWEST = 1 << 62
"""A batch after all others: operators are read as they are now."""


@answers(ShowStateSizes)
def sizes(context: Context, question: ShowStateSizes) -> Sequence[OperatorSizes]:
    """Every stateful operator of the job's queries, in their order."""
    job = runs.known(context, question.job)
    taken = homes.reachable(context, savepoints.newest_first(context, job)[: question.savepoints])
    manifests = [savepoints.manifest(context, savepoint.id) for savepoint in taken][::-1]
    live = dict(_live(context, job))
    known = {key: operator for manifest in manifests for key, operator in _operators(manifest)} | {key: of for key, (of, _) in live.items()}
    return tuple(_sizes(context, key, known[key], manifests, live) for key in sorted(known))


def _sizes(context: Context, key: Key, operator: Operator, manifests: Sequence[Manifest], live: Live) -> OperatorSizes:
    saved = tuple(_saved(context, manifest, key, own) for manifest in manifests for at, own in _operators(manifest) if at == key)
    wrote = live[key][1] if key in live else {}
    last = {batch: WrittenSizes(batch, some.at_ms, in_order(some.bytes, operator.partitions)) for batch, some in wrote.items()}
    return OperatorSizes(key[0], operator.id, operator.name, operator.partitions, saved, tuple(last.values()))


def _operators(manifest: Manifest) -> Iterator[tuple[Key, Operator]]:
    for image in manifest.begun:
        yield from (((image.query, operator.id), operator) for operator in image.operators)


def _live(context: Context, job: JobName) -> Iterator[tuple[Key, tuple[Operator, Mapping[int, Written]]]]:
    """The operators of the live checkpoint, with what each committed batch wrote; the commits are read first, so all of it is there."""
    for place in sources.of_job(context, job).queries:
        storage = open_storage(place.checkpoint)
        newest = newest_committed(storage)
        listing = listed(storage, operators.FOLDER)
        for operator in operators.read(storage, listing, NEWEST):
            partitions = max(logs.batch_ids(listing.subfolders(operators.folder(operator.id))), default=operator.partitions - 1) + 1
            wrote = {batch: some for batch, some in written(listing, operator.id).items() if newest is not None and batch <= newest}
            yield (place.query, operator.id), (Operator(operator.id, operator.name, partitions, operator.stores), wrote)


def _saved(context: Context, manifest: Manifest, key: Key, operator: Operator) -> SavedSizes:
    image = next(image for image in manifest.queries if image.query == key[0])
    by_partition = partition_bytes(manifest.files, layout.checkpoint(image.query)).get(operator.id, {})
    rows = _rows(context, manifest, key)
    return SavedSizes(
        manifest.id,
        image.batch,
        image.batch_timestamp_ms,
        in_order(by_partition, operator.partitions),
        in_order(rows, operator.partitions) if rows else (),
    )


def _rows(context: Context, manifest: Manifest, key: Key) -> Mapping[int, int]:
    """Rows by partition of the operator's tables, where every one of them was read."""
    own = [
        table
        for table in tables.tables(context.shelf(manifest.id), manifest)
        if (table.query, table.operator) == key and not table.internal and not table.is_timers
    ]
    counts = [_read(context, manifest, table) for table in own]
    if not counts or any(count is None for count in counts):
        return {}
    partitions = {partition for count in counts if count for partition in count}
    return {partition: sum((count or {}).get(partition, 0) for count in counts) for partition in partitions}


def _read(context: Context, manifest: Manifest, table: StateTable) -> Mapping[int, int] | None:
    reading = readings.find(context, manifest.id, reading_id(manifest.id, table))
    return reading.partitions if reading else None
