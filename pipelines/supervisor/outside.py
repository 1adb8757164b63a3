"""A query seen from outside: what the logs of its checkpoint tell of its batches, in the shape of Spark's own progress events.

The shape is that of `StreamingQueryProgress.json`, so ingestion, catalog and pages take these lines like a driver's. What only the query
itself knows (phases, state rows, late rows, event times) is absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from pipelines.checkpoint import commits, logs, metadata, offsets
from pipelines.checkpoint.offsets import Offsets
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import QueryName
from pipelines.domain.json_text import read_json
from pipelines.domain.runs import PROGRESS_FILE, QueryStarted
from pipelines.storage import lines, parallel
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage

SPARK_RUN_ID = "00000000-0000-0000-0000-000000000000"
"""The logs do not say which of Spark's runs executed a batch."""
READERS = 8


@dataclass(frozen=True)
class Batches:
    """Result of a look at one query: progress lines of the new batches, and the newest committed batch."""

    query: QueryName
    lines: tuple[str, ...]
    newest: int | None


def look(started: QueryStarted, seen: int) -> Batches:
    """The batches of the query committed after batch `seen` (-1: all that are retained), oldest first.

    Where its newest batch is before `seen` it was taken back, and batches from there on are new. Raises NotFound
    (`checkpoint.not_found`) where the checkpoint is gone, Conflict (`checkpoint.replaced`) where it is another query's.
    """
    storage = open_storage(started.checkpoint)
    _refuse_another(storage, started)
    committed = _committed_ms(storage)
    newest = max(committed, default=None)
    new = sorted(batch for batch in committed if batch > seen)
    lines = parallel.each(lambda batch: _line(storage, started, batch, committed[batch]), new, READERS, brief=True)
    return Batches(started.query, tuple(line for line in lines if line), newest)


def last_batches(folder: Path, queries: Iterable[QueryName]) -> dict[QueryName, int]:
    """The last batch of each query in the run's `progress.jsonl`, -1 without one; read from its end, as far as is needed."""
    newest: dict[QueryName, int] = {}
    names = set(queries)
    for line in islice(lines.backwards(folder / PROGRESS_FILE), 1, None):  # behind the last end of line there is no whole one
        query_and_batch = _query_and_batch(line)
        if query_and_batch is not None and query_and_batch[0] in names:
            newest.setdefault(query_and_batch[0], query_and_batch[1])
        if len(newest) == len(names):
            break
    return {query: newest.get(query, -1) for query in names}


def input_rows(begun: str | None, ended: str | None) -> int | None:
    """Rows between two offsets (Spark's JSON), where offsets are counts of rows: Kafka's and rate-per-micro-batch's. None elsewhere,
    unless the source stands still."""
    if begun == ended:
        return 0
    start, end = _json(begun), _json(ended)
    if _is_micro_rate(end) and (start is None or _is_micro_rate(start)):
        return int(end["offset"] - (start["offset"] if start else 0))
    if _is_kafka(start) and _is_kafka(end):
        pairs = [(start.get(topic, {}).get(partition), last) for topic, context in end.items() for partition, last in context.items()]
        return None if any(first is None for first, _ in pairs) else sum(last - first for first, last in pairs)
    return None


def _refuse_another(storage: Storage, started: QueryStarted) -> None:
    current = metadata.read(storage)
    if current.query_id != started.query_id:
        raise Conflict(
            "checkpoint.replaced",
            f"{storage.url} belongs to another query now: its id is {current.query_id}, not {started.query_id}",
            "It began anew on this checkpoint. Forget this job and attach the checkpoint again.",
        )


def _committed_ms(storage: Storage) -> dict[int, int]:
    """Committed batch -> when its entry of the commit log was written."""
    written = {entry.path.removeprefix(f"{commits.FOLDER}/"): entry.modified_ms for entry in storage.list(commits.FOLDER)}
    return {batch: written[str(batch)] for batch in logs.batch_ids(written)}


def _line(storage: Storage, started: QueryStarted, batch: int, committed_ms: int) -> str | None:
    """The progress line of a batch, None for one that Spark purged meanwhile."""
    try:
        entry = offsets.read(storage, batch)
    except NotFound:
        return None
    return json.dumps(_progress(started, entry, _before(storage, batch), committed_ms), separators=(",", ":"))


def _before(storage: Storage, batch: int) -> Offsets | None:
    """The offsets of the batch before; None for the first batch, and where Spark purged them or left a gap."""
    try:
        return offsets.read(storage, batch - 1) if batch else None
    except NotFound:
        return None


def _progress(started: QueryStarted, entry: Offsets, before: Offsets | None, committed_ms: int) -> dict[str, Any]:
    begun_ms = entry.batch_timestamp_ms
    took_ms = max(0, committed_ms - begun_ms)
    sources = [_source(name, entry, before) for name in entry.offsets]
    known = [source["numInputRows"] for source in sources if "numInputRows" in source]
    rows = sum(known)
    told = {"numInputRows": rows, **_rates(rows, begun_ms, took_ms, before)} if len(known) == len(sources) else {}
    return {
        "id": started.query_id,
        "runId": SPARK_RUN_ID,
        "name": started.query,
        "timestamp": _iso(begun_ms),
        "batchId": entry.batch,
        "batchDuration": took_ms,
        **told,
        "durationMs": {"triggerExecution": took_ms},
        "eventTime": {"watermark": _iso(entry.batch_watermark_ms)} if entry.batch_watermark_ms else {},
        "stateOperators": [],
        "sources": sources,
        "sink": {"description": started.sink, "numOutputRows": -1},
    }


def _rates(rows: int, begun_ms: int, took_ms: int, before: Offsets | None) -> dict[str, float]:
    """Rows a second as Spark counts them: read ones since the trigger before, processed ones over the batch."""
    since_ms = begun_ms - before.batch_timestamp_ms if before else 0
    spans_ms = {"inputRowsPerSecond": since_ms, "processedRowsPerSecond": took_ms}
    return {name: rows * 1000 / ms for name, ms in spans_ms.items() if ms > 0}


def _source(name: str, entry: Offsets, before: Offsets | None) -> dict[str, Any]:
    start, end = (before.offsets.get(name) if before else None), entry.offsets[name]
    told: dict[str, Any] = {"description": f"source {name}", "startOffset": _json(start), "endOffset": _json(end)}
    rows = input_rows(start, end) if before or not entry.batch else None
    return told if rows is None else {**told, "numInputRows": rows}


def _is_micro_rate(offset: Any) -> bool:
    """`{"offset":N,"timestamp":T}` (RatePerMicroBatchStreamOffset): the rows up to there."""
    return isinstance(offset, dict) and set(offset) == {"offset", "timestamp"} and all(type(value) is int for value in offset.values())


def _is_kafka(offset: Any) -> bool:
    """`{"topic":{"0":N}}` (KafkaSourceOffset): the next offset of each partition."""
    return isinstance(offset, dict) and all(
        isinstance(partitions, dict) and partitions and all(logs.is_number(key) and type(value) is int for key, value in partitions.items())
        for partitions in offset.values()
    )


def _json(text: str | None) -> Any:
    """An offset as JSON; text that is no JSON stays as it is."""
    try:
        return None if text is None else read_json(text)
    except ValueError:
        return text


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _query_and_batch(line: bytes) -> tuple[QueryName, int] | None:
    """(query, batch) of a progress line, None for one that is torn."""
    try:
        raw = read_json(line)
        return QueryName(raw["name"]), int(raw["batchId"])
    except (ValueError, KeyError, TypeError):
        return None
