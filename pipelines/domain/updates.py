"""Updates: what a stream tells of a workspace as it happens."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pipelines.domain.jobs import Event, JobSummary
from pipelines.domain.operations import Operation


class UpdateKind(enum.StrEnum):
    """What an update is about, and so what it holds."""

    JOB = "job"
    """A job as it is now: its state or its newest run is another one, a batch has ended, a savepoint was taken."""
    GONE = "gone"
    """A job that is there no more."""
    EVENT = "event"
    """An event of the workspace."""
    OPERATION = "operation"
    """An operation as it is now: it began, it is further, it ended."""


@dataclass(frozen=True)
class Gone:
    """A job that was removed."""

    job: str


@dataclass(frozen=True)
class Update:
    """One update. `id` is its place in the stream, `job` the job it is about; empty where it is about none."""

    id: str
    kind: UpdateKind
    job: str
    value: JobSummary | Gone | Event | Operation


HELD = {UpdateKind.JOB: JobSummary, UpdateKind.GONE: Gone, UpdateKind.EVENT: Event, UpdateKind.OPERATION: Operation}
"""What each kind holds."""


def telling(summary: JobSummary) -> tuple[object, ...]:
    """What makes a job worth an update: its clock-driven figures change by themselves."""
    run = summary.run.id if summary.run else ""
    findings = tuple(finding.problem for finding in summary.findings)
    return summary.state, run, summary.batch, summary.last_progress_ms, summary.savepoints, summary.restarts, findings
