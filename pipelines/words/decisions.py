"""Decisions on variants, and on what a job goes on as, in words: what has come of them."""

from __future__ import annotations

from pipelines.domain.decisions import UndropPlan
from pipelines.domain.ids import JobName
from pipelines.words import formats


def promoted(variant: str, parent: JobName) -> str:
    """What a promotion has done."""
    return f"{variant} is promoted: {parent} goes on with its version"


def rescaled(job: str, partitions: int) -> str:
    """What a rescaling has done."""
    return f"{job} goes on with its state in {formats.plural(partitions, 'partition')}"


def upgraded(job: str) -> str:
    """What an upgrade has done."""
    return f"{job} is upgraded, and goes on with the changed code"


def dropped(variant: str) -> str:
    """What a drop has done."""
    return f"{variant} was dropped"


def undropped(plan: UndropPlan) -> str:
    """What an undrop has done; a variant that did not run when it was dropped does not run now."""
    return f"{plan.job} is back, and goes on where it was stopped" if plan.run else f"{plan.job} is back; it does not run"
