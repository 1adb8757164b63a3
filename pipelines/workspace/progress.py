"""Progress events of the batches of a savepoint: read from the job's runs, kept in the savepoint before it is sealed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.domain.ids import JobName, QueryName, RunId
from pipelines.domain.jobs import Run
from pipelines.domain.json_text import read_json
from pipelines.domain.runs import PROGRESS_FILE
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.savepoint import checksums, progress_file
from pipelines.storage import lines
from pipelines.storage.protocol import Storage
from pipelines.workspace import runs
from pipelines.workspace.context import Context

PATIENCE_S = 2.0
"""A savepoint can be there before Spark has told its listener of the batch."""
PAUSE_S = 0.05


def keep(context: Context, shelf: Storage, manifest: Manifest) -> None:
    """Writes `progress.json` of a savepoint that is not sealed yet; one that is sealed stays as it is."""
    if checksums.read(shelf, manifest.id) is None and not progress_file.read(shelf, manifest.id):
        progress_file.write(shelf, manifest.id, find(context, manifest, PATIENCE_S))


def find(context: Context, manifest: Manifest, patience_s: float = 0) -> Mapping[QueryName, dict[str, Any]]:
    """Query -> Spark's progress event of the saved batch; a query without a known event is left out."""
    return of_batches(context, manifest.job, manifest.run, manifest.begun, patience_s)


def of_batches(
    context: Context, job: JobName, run: RunId | None, images: Sequence[QueryImage], patience_s: float = 0
) -> Mapping[QueryName, dict[str, Any]]:
    """Query -> Spark's progress event of the image's batch, as `run` of `job` or those before it on its checkpoint said it.

    While the run still runs, waits up to `patience_s` seconds for events that are on their way.
    """
    ran = _runs(context, job, run)
    deadline = time.monotonic() + patience_s
    while True:
        events = {image.query: event for image in images if (event := _event(context, ran, image.query, image.batch))}
        coming = len(events) < len(images) and any(past_run.state.live for past_run in ran)
        if not coming or time.monotonic() >= deadline:
            return events
        time.sleep(PAUSE_S)


def _runs(context: Context, job: JobName, newest: RunId | None) -> list[Run]:
    """The run, then those that worked on the same checkpoint before it: the batch may be theirs."""
    ran = list(runs.of_job(context, job))
    own = next((run for run in ran if run.id == newest), None)
    return [run for run in ran if own and run.checkpoints == own.checkpoints and run.created_ms <= own.created_ms]


def _event(context: Context, newest_first: list[Run], query: QueryName, batch: int) -> dict[str, Any] | None:
    for run in newest_first:
        for event in _backwards(context.layout.run(run.job, run.id) / PROGRESS_FILE, query):
            if event["batchId"] == batch and _ran(event):
                return event
            if event["batchId"] < batch:
                break
    return None


def _ran(event: Mapping[str, Any]) -> bool:
    """Whether the event is of a batch that was run: a query without new data reports the batch to come, which did nothing yet."""
    return "addBatch" in event.get("durationMs", {"addBatch": 0})


def _backwards(path: Path, query: QueryName) -> Iterator[dict[str, Any]]:
    """The query's progress events in the file, newest first; lines that hold none (torn, damaged) are passed over."""
    for line in lines.backwards(path):
        try:
            event = read_json(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("name") == query and isinstance(event.get("batchId"), int):
            yield event
