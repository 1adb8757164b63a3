"""Outputs of jobs in lock-step, batch by batch: where the log of a file sink still says which files a batch wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.catalog import outputs
from pipelines.catalog.output_files import Options
from pipelines.checkpoint import sink_log
from pipelines.domain.errors import NotFound
from pipelines.domain.experiments import LockStepped
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.workspace import savepoints
from pipelines.workspace.context import Context

MOST_BATCHES = 500
"""How many of the newest common batches are compared one by one."""


@dataclass(frozen=True)
class Sinks:
    """Two file sinks of one format, each at its path and with its options."""

    paths: tuple[str, str]
    format: str
    options: tuple[Options, Options] = (None, None)


def together(context: Context, a: JobName, b: JobName) -> bool:
    """Whether the batches of two jobs read the same: one follows the other, or both follow a third from the same savepoint."""
    first, second = context.files.job(a), context.files.job(b)
    if first is None or second is None:
        return False
    return _follows(first, b) or _follows(second, a) or _both_follow(first, second)


def common(path_a: str, path_b: str) -> int | None:
    """The newest batch that both file sinks have; None where the logs cannot be cut there (Spark has merged that batch with later ones)."""
    logs = [sink_log.names(open_storage(path), sink_log.FOLDER) for path in (path_a, path_b)]
    newest = [names.newest for names in logs if names.newest is not None]
    if len(newest) < len(logs):
        return None
    until = min(newest)
    return until if all(sink_log.holds(names, until) for names in logs) else None


def files_until(path: str, until: int) -> tuple[str, ...]:
    """The output's data files as of batch `until`."""
    log = sink_log.read(open_storage(path), until, sink_log.FOLDER)
    return tuple(file.path for file in sink_log.live_files(log, until))


def stepped(sinks: Sinks, keys: Sequence[str], began: int, until: int, examples: int) -> LockStepped:
    """Compares batch by batch after `began` up to `until`, and ends with the first whose rows part: at most `examples` of each kind."""
    storages = [open_storage(path) for path in sinks.paths]
    singles = [sink_log.names(storage, sink_log.FOLDER).singles for storage in storages]
    batches = [batch for batch in range(began + 1, until + 1) if all(batch in single for single in singles)][-MOST_BATCHES:]
    for batch in batches:
        a, b = (_written(storage, batch) for storage in storages)
        if not (a or b):
            continue
        comparison = outputs.compare(a, b, format=sinks.format, keys=keys, examples=examples, options=sinks.options)
        if comparison.differs:
            return LockStepped(batches[0], until, batch, comparison.keys, comparison.examples)
    return LockStepped(batches[0] if batches else until + 1, until, None)


def began(context: Context, a: JobName, b: JobName, query: str) -> int:
    """The batch of the savepoint that the follower began with; -1 where that is not known any more."""
    for job in filter(None, (context.files.job(a), context.files.job(b))):
        if job.lead is not None and job.origin is not None:
            try:
                images = savepoints.get(context, job.origin.savepoint).queries
            except NotFound:
                return -1
            return next((image.batch for image in images if image.query == query and image.begun), -1)
    return -1


def _follows(job: Job, other: JobName) -> bool:
    return job.lead is not None and job.lead.job == other


def _both_follow(first: Job, second: Job) -> bool:
    if first.lead is None or second.lead is None or first.origin is None or second.origin is None:
        return False
    return first.lead.checkpoints == second.lead.checkpoints and first.origin.savepoint == second.origin.savepoint


def _written(storage: Storage, batch: int) -> tuple[str, ...]:
    """The data files of one batch."""
    return tuple(file.path for file in sink_log.entries(storage, batch, sink_log.FOLDER) if file.action != sink_log.DELETE)
