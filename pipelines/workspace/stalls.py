"""Why a job makes no progress, as far as its checkpoint says it: state in many more partitions than its Spark has cores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from pipelines.checkpoint import operators
from pipelines.domain import masters
from pipelines.domain.errors import TidemarkError
from pipelines.domain.findings import Problem
from pipelines.domain.job_places import is_remote
from pipelines.domain.jobs import JobSummary, QuerySeen
from pipelines.storage.addresses import open_storage
from pipelines.words import findings
from pipelines.workspace import versions
from pipelines.workspace.context import Context

MANY = 16
"""So many partitions for each core are many: each batch takes a task and a store of each, whatever there is to do."""


def explained(context: Context, summary: JobSummary, queries: Sequence[QuerySeen]) -> JobSummary:
    """The summary whose finding of no progress names the partitions where there are many. A checkpoint at a home is not asked: pages do
    this again and again."""
    stalled = any(finding.problem is Problem.NO_PROGRESS for finding in summary.findings)
    if not stalled or summary.run is None or summary.job.attached:
        return summary
    threads = masters.threads(versions.get(context, summary.run.version).master)
    partitions = max((_partitions(query.checkpoint) for query in queries), default=0)
    cores = threads or os.cpu_count() or 1
    if threads is None or partitions < MANY * cores:
        return summary
    told = (findings.crowded(each, partitions, cores) if each.problem is Problem.NO_PROGRESS else each for each in summary.findings)
    return replace(summary, findings=tuple(told))


def _partitions(checkpoint: str) -> int:
    """0 also where the checkpoint cannot be read, which is what a diagnosis is for."""
    if is_remote(checkpoint):
        return 0
    try:
        return operators.spread_over(open_storage(checkpoint))
    except TidemarkError:
        return 0
