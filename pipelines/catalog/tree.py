"""The tree of versions: jobs as lanes, savepoints as marks, forks as what joins them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pipelines.catalog import jobs, runs, savepoints
from pipelines.catalog.connection import Reader
from pipelines.domain.experiments import Lane, Mark, Tree
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job, Run
from pipelines.domain.savepoints import Savepoint


def tree(reader: Reader) -> Tree:
    """All jobs by age, and all savepoints, oldest first. A job that was forgotten keeps its lane while savepoints of it exist."""
    marks = [_mark(savepoint) for savepoint in reversed(savepoints.listed(reader))]
    known = jobs.listed(reader)
    begun = {mark.job: mark.at_ms for mark in reversed(marks)} | {job.name: job.created_ms for job in known}
    ran = _runs_by_job(runs.listed(reader))
    by_name = {job.name: job for job in known}
    names = sorted(begun, key=lambda name: (begun[name], name))
    return Tree(tuple(_lane(name, by_name.get(name), ran[name]) for name in names), tuple(marks))


def _runs_by_job(newest_first: Sequence[Run]) -> defaultdict[JobName, list[Run]]:
    runs_of: defaultdict[JobName, list[Run]] = defaultdict(list)
    for run in reversed(newest_first):
        runs_of[run.job].append(run)
    return runs_of


def _lane(name: JobName, job: Job | None, ran: Sequence[Run]) -> Lane:
    origin = job.origin if job else None
    return Lane(name, tuple(ran), origin.savepoint if origin else None, origin.experiment if origin else None)


def _mark(savepoint: Savepoint) -> Mark:
    return Mark(
        id=savepoint.id,
        job=savepoint.job,
        version=savepoint.version,
        at_ms=savepoint.created_ms,
        batch=savepoint.batch,
        bytes=savepoint.bytes,
        reason=savepoint.reason,
        label=savepoint.label,
        batch_timestamp_ms=savepoint.queries[0].batch_timestamp_ms,
        batches={image.query: image.batch for image in savepoint.queries if image.begun},
    )
