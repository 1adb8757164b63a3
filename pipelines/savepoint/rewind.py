"""The plan of going back to a retained batch: its savepoint is taken, and the job is resumed from it."""

from __future__ import annotations

from pipelines.domain.ids import JobName, SavepointId
from pipelines.domain.restores import RestorePlan, SinkPlan
from pipelines.savepoint import restore, restored_sinks
from pipelines.savepoint.take import Look
from pipelines.savepoint.targets import Resume


def plan(look: Look, target: Resume) -> RestorePlan:
    """The plan of a resume from the savepoint that is taken of what `look` saw."""
    return plan_of(look, target.job, target.checkpoints, tuple(restored_sinks.for_resume(query.image).plan for query in look.gathered))


def plan_of(look: Look, job: JobName, checkpoints: str, decided: tuple[SinkPlan, ...]) -> RestorePlan:
    """The plan of going on with `job` from the savepoint that is taken of what `look` saw, of it or of its variant."""
    return RestorePlan(
        savepoint=SavepointId(""),
        job=job,
        keeps_query_id=True,
        checkpoints=checkpoints,
        files=look.plan.files,
        bytes=look.plan.bytes,
        new_bytes=look.plan.new_bytes,
        how=look.plan.how,
        sinks=decided,
        warnings=(*restore.warnings(decided), *look.plan.warnings),
    )
