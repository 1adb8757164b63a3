"""What a resume says of the confs that it is given and Spark passes over, as the job's checkpoint pins others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipelines.domain.pinned_confs import ignored
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import QueryImage
from pipelines.workspace import versions
from pipelines.workspace.context import Context
from pipelines.workspace.resumed import Going
from pipelines.workspace.safety import Safety
from pipelines.workspace.verdicts import stand_in


def told(context: Context, plan: RestorePlan, images: Sequence[QueryImage], going: Going) -> RestorePlan:
    """The plan of going on with the state that `images` show, with the confs that are new since the newest run and have no effect."""
    before = versions.get(context, going.newest.version)
    return replace(plan, warnings=(*plan.warnings, *ignored(images, before.conf, going.version.conf)))


def told_of_present(context: Context, plan: RestorePlan, safe: Safety, going: Going) -> RestorePlan:
    """The same of the job's present state, which what is saved of it first shows, else the savepoint that stands for it."""
    if safe.take is not None:
        return told(context, plan, safe.take.look.images, going)
    manifest = stand_in(context, going.job)
    return plan if manifest is None else told(context, plan, manifest.queries, going)
