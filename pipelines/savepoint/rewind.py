"""The plan of going back to a retained batch: its savepoint is taken, and the job is resumed from it."""

from __future__ import annotations

from pipelines.domain.ids import SavepointId
from pipelines.domain.restores import RestorePlan
from pipelines.savepoint import restore, restored_sinks
from pipelines.savepoint.take import Look
from pipelines.savepoint.targets import Resume


def plan(look: Look, target: Resume) -> RestorePlan:
    """The plan of a resume from the savepoint that is taken of what `look` saw."""
    decided = tuple(restored_sinks.for_resume(query.image).plan for query in look.gathered)
    return RestorePlan(
        savepoint=SavepointId(""),
        job=target.job,
        keeps_query_id=True,
        checkpoints=target.checkpoints,
        files=look.plan.files,
        bytes=look.plan.bytes,
        new_bytes=look.plan.new_bytes,
        how=look.plan.how,
        sinks=decided,
        warnings=(*restore.warnings(decided), *look.plan.warnings),
    )
