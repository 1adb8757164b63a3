"""The contents of a savepoint: for each query the chosen batch, the files to clone and the files to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.checkpoint import beginning, metadata, offsets, sink_log
from pipelines.checkpoint import closure as closures
from pipelines.checkpoint.closure import Closure
from pipelines.checkpoint.provider import Provider
from pipelines.checkpoint.retained import retained
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import NOT_BEGUN, Operator, QueryImage, RetainedBatch, SourceOffset, StoredFile
from pipelines.domain.sinks import FILE_SINKS
from pipelines.savepoint import batch_choice, delta_tables, iceberg_tables, layout, own_reads, own_tables
from pipelines.savepoint.batch_choice import BatchChoice, Newest, OfBatches
from pipelines.savepoint.source import JobSource, QueryLocation
from pipelines.storage import paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone, Entry, Storage


@dataclass(frozen=True)
class Part:
    """Files of one storage on their way into a savepoint; target paths are relative to the savepoint."""

    source: Storage
    clone: tuple[Clone, ...]
    cloned: tuple[StoredFile, ...]
    """What each of `clone` must be in the end."""
    write: Mapping[str, bytes]

    @property
    def files(self) -> tuple[StoredFile, ...]:
        return (*self.cloned, *(StoredFile(path, len(data)) for path, data in self.write.items()))


@dataclass(frozen=True)
class QueryContents:
    """A query at its chosen batch, and the parts that make its image."""

    image: QueryImage
    parts: tuple[Part, ...]


def gather(job: JobSource, choice: BatchChoice, library: Storage | None = None) -> tuple[QueryContents, ...]:
    """The contents of every query of `job` at its chosen batch, those that have not begun last; with Delta tables that can be linked into
    the `library`. A query that is ahead of the one whose files or table it reads is taken at an earlier batch.

    Raises what `batch_choice` and the checkpoint's reader raise.
    """
    places = {place.query: place for place in job.queries}
    batch_choice.check(job.job, choice, list(places))
    batches = dict(batch_choice.choose(choice, {query: _candidates(place, choice) for query, place in places.items()}))
    contents = {query: _query(place, batches[query], library) for query, place in places.items()}
    while reader := _ahead(job, batches, contents):
        batches[reader] = batch_choice.earlier(reader, batches[reader], choice, retained_batches(places[reader]))
        contents[reader] = _query(places[reader], batches[reader], library)
    return tuple(sorted(contents.values(), key=lambda query: not query.image.begun))


def _ahead(job: JobSource, batches: Mapping[QueryName, int], contents: Mapping[QueryName, QueryContents]) -> QueryName | None:
    of_files = own_reads.ahead(job.queries, batches, {query: each.parts[0].write for query, each in contents.items()})
    return of_files or own_tables.ahead([each.image for each in contents.values()])


def retained_batches(place: QueryLocation) -> tuple[RetainedBatch, ...]:
    """The batches of one query that a savepoint can be taken of now, oldest first: its sink's log must reach back to them too."""
    batches = retained(open_storage(place.checkpoint), place.operators)
    log_names = sink_log.names(open_storage(place.sink_path), sink_log.FOLDER) if _has_log(place) else None
    return tuple(
        RetainedBatch(place.query, batch.batch, batch.timestamp_ms, batch.watermark_ms, batch.committed_ms)
        for batch in batches
        if log_names is None or sink_log.holds(log_names, batch.batch)
    )


def standing(place: QueryLocation) -> QueryImage:
    """The query where it goes on: after its newest committed batch, or where its sources begin. Only the logs of batches are read, so that
    damage of its state keeps nobody from asking its sources. Raises Corrupt, Unsupported, NotFound where those cannot be read."""
    storage = open_storage(place.checkpoint)
    newest, query_id = closures.newest_committed(storage), metadata.read(storage).query_id
    if newest is None:
        beginning.refuse_lost_commits(storage)
        return replace(_blank(place, query_id, ()), offsets=starts(storage))
    entry = offsets.read(storage, newest)
    return replace(_blank(place, query_id, ()), batch=newest, offsets=_offsets(entry.offsets))


def starts(storage: Storage) -> tuple[SourceOffset, ...]:
    """Where sources of a query that has not begun begin, as far as its checkpoint says it."""
    return _offsets(beginning.positions(storage))


def _offsets(noted: Mapping[str, str | None]) -> tuple[SourceOffset, ...]:
    return tuple(SourceOffset(source, offset or "null") for source, offset in noted.items())


def _has_log(place: QueryLocation) -> bool:
    return place.sink.lower() in FILE_SINKS and bool(place.sink_path)


def _query(place: QueryLocation, batch: int, library: Storage | None) -> QueryContents:
    storage = open_storage(place.checkpoint)
    if batch == NOT_BEGUN:
        return _not_begun(storage, place)
    return _begun(storage, place, closures.closure(storage, batch, place.operators), library)


def _not_begun(storage: Storage, place: QueryLocation) -> QueryContents:
    """A query before its first commit: where its sources begin, nothing of its sink."""
    start = beginning.beginning(storage)
    part = _part(storage, start.clone, {}, layout.checkpoint(place.query), "")
    image = replace(_blank(place, start.query_id, part.files), snapshot=iceberg_tables.of(place, start.query_id, NOT_BEGUN))
    return QueryContents(image, (part,))


def _blank(place: QueryLocation, query_id: str, files: Sequence[StoredFile]) -> QueryImage:
    """The image of a query that has not begun."""
    return QueryImage(
        query=QueryName(place.query),
        query_id=query_id,
        batch=NOT_BEGUN,
        batch_timestamp_ms=0,
        watermark_ms=0,
        offsets=(),
        provider=Provider.NONE.value,
        state_format=0,
        operators=(),
        conf={},
        sink=place.sink,
        sink_path=place.sink_path,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        sink_table=place.sink_table,
        sources=place.sources,
        location=place.location,
        brokers=place.brokers,
        tables=place.tables,
        removals=place.removals,
    )


def _begun(storage: Storage, place: QueryLocation, closure: Closure, library: Storage | None) -> QueryContents:
    parts = [_part(storage, closure.clone, closure.write, layout.checkpoint(place.query), "")]
    if _has_log(place):
        parts.append(_sink_part(open_storage(place.sink_path), closure.batch, layout.sink_log(place.query)))
    table = delta_tables.of(place, closure.query_id, closure.batch, library) if library is not None else None
    if table is not None and table.entries:
        parts.append(_part(table.storage, table.entries, {}, layout.table(place.query), ""))
    image = replace(_image(place, closure, parts), snapshot=iceberg_tables.of(place, closure.query_id, closure.batch))
    return QueryContents(replace(image, table=table.image) if table is not None else image, tuple(parts))


def _candidates(place: QueryLocation, choice: BatchChoice) -> tuple[RetainedBatch, ...]:
    """The batches to choose from. Only a point in the past needs the list of retained batches, which costs more."""
    storage = open_storage(place.checkpoint)
    if not isinstance(choice, Newest) and not (isinstance(choice, OfBatches) and place.query not in choice.batches):
        return retained_batches(place)
    newest = closures.newest_committed(storage)
    if newest is None:
        beginning.refuse_lost_commits(storage)
    return () if newest is None else (RetainedBatch(place.query, newest, 0, 0, 0),)


def _sink_part(output: Storage, batch: int, folder: str) -> Part:
    """The sink's log up to `batch`. Its files never change, so those that the cut keeps are cloned with their checksums."""
    log_names = sink_log.cut(sink_log.read(output, batch, sink_log.FOLDER), batch)
    entries = {paths.name(entry.path): entry for entry in output.list(sink_log.FOLDER)}
    for name in log_names:
        if name not in entries:
            raise NotFound("storage.not_found", f"{sink_log.FOLDER}/{name} was deleted while it was read", "Try again.")
    names = [name for log_name in log_names for name in (log_name, f".{log_name}.crc") if name in entries]
    return _part(output, (entries[name] for name in names), {}, folder, sink_log.FOLDER)


def _part(source: Storage, clone: Iterable[Entry], write: Mapping[str, bytes], folder: str, base: str) -> Part:
    """Files below `base` of `source` that go into `folder` of a savepoint; the storage checks their paths when it clones them."""
    skipped = len(base) + 1 if base else 0
    clones = [Clone(path, f"{folder}/{path[skipped:]}", size, tag, inode) for path, size, _, tag, inode in clone]
    return Part(
        source,
        tuple(clones),
        tuple([StoredFile(target, size) for _, target, size, _, _ in clones]),
        {paths.join(folder, path): data for path, data in write.items()},
    )


def _image(place: QueryLocation, closure: Closure, parts: Iterable[Part]) -> QueryImage:
    return replace(
        _blank(place, closure.query_id, [file for part in parts for file in part.files]),
        batch=closure.batch,
        batch_timestamp_ms=closure.offsets.batch_timestamp_ms,
        watermark_ms=closure.commit.next_batch_watermark_ms,
        offsets=_offsets(closure.offsets.offsets),
        provider=closure.provider.value,
        state_format=closure.format_version if closure.stateful else 0,
        operators=tuple(Operator(operator.id, operator.name, operator.partitions, operator.stores) for operator in closure.operators),
        conf=dict(closure.conf),
    )
