"""The batch that a run is at, or failed at: planned, and not committed, in the checkpoint of its query; what it reads of each source."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath

from pipelines.checkpoint import commits, compact_log, logs, offsets, source_log
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import JobName, QueryName, RunId
from pipelines.domain.json_text import read_json
from pipelines.domain.probations import Took
from pipelines.domain.restarts import FailedBatch, SourceSpan
from pipelines.domain.runs import QueryStarted
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.workspace import events, sources
from pipelines.workspace.context import Context

MOST_FILES = 5
"""So many files of a batch are named."""


def batch_of(context: Context, job: JobName, run: str, query: str) -> FailedBatch | None:
    """The batch that `query` of the run was at; None where it was at none, or it cannot be told, which is an event."""
    started = next((begun for begun in sources.started_before(context, job)[::-1] if begun.query == query), None)
    if started is None:
        return None
    try:
        storage = open_storage(started.checkpoint)
        batch = _unfinished(storage)
        return None if batch is None else FailedBatch(QueryName(query), batch, _spans(storage, batch, started.sources))
    except TidemarkError as error:
        events.say(context, "restart.batch_unknown", job, run, f"the batch that {query} was at cannot be told: {error.message}")
        return None


def died_in(context: Context, job: JobName, run: RunId, before: FailedBatch | None) -> FailedBatch | None:
    """The batch in whose middle a run ended that names no query which failed: `before`, at which the run before it failed, where that is
    not committed yet; else the one of its first query that is at one. None where no query that came up in this run is."""
    started = dict.fromkeys(query.query for query in sources.started_queries(context, job, run))
    batches = [batch for query in started if (batch := batch_of(context, job, run, query)) is not None]
    return next((batch for batch in batches if batch.is_that(before)), next(iter(batches), None))


def under_way(context: Context, job: JobName, run: RunId, at_ms: int) -> tuple[Took, ...]:
    """The batch that each query of the run is at, with the time since it was planned, or since the query started where that was later."""
    started = sources.started_queries(context, job, run)
    return tuple(took for query in started if (took := _at(open_storage(query.checkpoint), query, at_ms)) is not None)


def _at(storage: Storage, query: QueryStarted, at_ms: int) -> Took | None:
    batch = _unfinished(storage)
    if batch is None:
        return None
    planned = (entry.modified_ms for entry in storage.list(offsets.FOLDER) if PurePosixPath(entry.path).name == str(batch))
    return Took(query.query, batch, max(0, at_ms - max([query.at_ms, *planned])))


def _unfinished(storage: Storage) -> int | None:
    planned, done = (_newest(storage, folder) for folder in (offsets.FOLDER, commits.FOLDER))
    return planned if planned > done else None


def _newest(storage: Storage, folder: str) -> int:
    return max(logs.batch_ids(PurePosixPath(entry.path).name for entry in storage.list(folder)), default=-1)


def _spans(storage: Storage, batch: int, names: tuple[str, ...]) -> tuple[SourceSpan, ...]:
    after = offsets.read(storage, batch).offsets
    before = offsets.read(storage, batch - 1).offsets if batch else {}
    return tuple(
        _span(storage, key, names[int(key)] if key.isdigit() and int(key) < len(names) else key, before.get(key) or "", offset)
        for key, offset in after.items()
        if offset is not None
    )


def _span(storage: Storage, key: str, name: str, before: str, offset: str) -> SourceSpan:
    entry = source_log.offset_of(offset)
    if entry is None:
        return _rows(SourceSpan(name, before, offset))
    files = _files(storage, f"sources/{key}", source_log.offset_of(before or None), entry)
    return SourceSpan(name, before, offset, len(files), "files", tuple(islice(files, MOST_FILES)))


def _files(storage: Storage, folder: str, before: int | None, entry: int) -> list[str]:
    """The files of the source's log after `before`, up to `entry`."""
    names = compact_log.names(PurePosixPath(file.path).name for file in storage.list(folder))
    log = source_log.read(storage, folder, names, entry)
    return [file.path for file in log.entries if before is None or file.batch > before]


def _rows(span: SourceSpan) -> SourceSpan:
    """With the rows between its offsets where these count rows by topic and partition, as Kafka's do. A partition that came after the
    batch before is read from its first row (`KafkaOffsetReader.getOffsetRangesFromResolvedOffsets`), which nothing here knows."""
    first, last = _places(span.before), _places(span.offset)
    if first is None or last is None:
        return span
    amount = sum(max(0, place - first.get(name, 0)) for name, place in last.items())
    return replace(span, amount=amount, at_most=not last.keys() <= first.keys())


def _places(offset: str) -> dict[str, int] | None:
    try:
        topics = read_json(offset)
    except ValueError:  # an offset of a source of its own
        return None
    if not isinstance(topics, dict) or not all(isinstance(parts, dict) for parts in topics.values()):
        return None
    places = {f"{topic} {part}": place for topic, parts in topics.items() for part, place in parts.items()}
    return places if all(type(place) is int for place in places.values()) else None
