"""Space: what the savepoints take on disk."""

from __future__ import annotations

from pipelines.domain.space import Space
from pipelines.savepoint import space as measuring
from pipelines.workspace import savepoints
from pipelines.workspace.context import Context


def space(context: Context, job: str) -> Space:
    """Of all savepoints, or of a job's alone: what another job's savepoints hold too then counts as held by somebody else."""
    return measuring.space(context.library, [one.id for one in savepoints.newest_first(context, job)])
