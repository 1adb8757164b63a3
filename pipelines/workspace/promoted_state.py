"""What a parent goes on with when its variant is promoted: the plan of its state, before anything stops."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.decisions import StateFrom
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import RunId
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest, Reason
from pipelines.domain.verdicts import Verdict
from pipelines.domain.versions import Version
from pipelines.savepoint import own_tables, rescaling, restore, rewind, sinks
from pipelines.verbs.promote import Promote
from pipelines.verbs.take import Take
from pipelines.workspace import adoptions, job_places, migrations, restores, savepoints, verdicts
from pipelines.workspace.adoptions import Adoption
from pipelines.workspace.aggregations import Asked
from pipelines.workspace.context import Context
from pipelines.workspace.decisions import Variant
from pipelines.workspace.holdings import gaps


def adoption(context: Context, variant: Variant, change: Promote) -> Adoption:
    """What the parent takes over of the variant, whose own state fits its own code."""
    if change.is_migrated:
        message = f"The state of {variant.job} fits its own code as it is: nothing of it is rewritten or dropped"
        hint = "Leave --migrate, --drop and --map out, or go on with the parent's state (--state present)."
        raise Invalid("promote.migrate", message, hint)
    return adoptions.planned(context, variant)


def known(context: Context, variant: Variant, judged: Manifest, target: Version, change: Promote) -> Verdict | None:
    return verdicts.nearest(context, judged, target, new_queries(context, variant), change.map)


def new_queries(context: Context, variant: Variant) -> tuple[str, ...]:
    return context.files.spec(variant.job, variant.run.id).new_queries


def restore_plan(
    context: Context, variant: Variant, present: Run, target: Version, change: Promote, adoption: Adoption | None
) -> RestorePlan | None:
    """The plan of going on with the variant's state, of going back to the savepoint, or of migrating the present state; None where that
    stays as it is. Refuses where a sink of the parent cannot, and what cannot be migrated."""
    run, asked = RunId(context.new_id("r")), migrations.asked(change, new_queries(context, variant))
    if adoption is not None:
        return _refused(adoption.plan(variant.parent, job_places.next_checkpoints(context, variant.parent, run)))
    if change.state is StateFrom.PRESENT:
        return _refused(_migrated(context, variant, present, run, asked)) if asked is not None else None
    manifest = savepoints.manifest(context, variant.origin.savepoint)
    plan = restores.of_resume(context, manifest, variant.parent, run, target, migrate=asked).plan()
    plan = _refused(gaps.told_of_savepoint(context, plan, manifest))
    if error := sinks.refused_going_back(plan.sinks) or own_tables.refused_going_back(manifest.queries):
        raise Conflict(error.code, error.message, "Promote it on its present state (--state present).")
    return replace(plan, verdict=known(context, variant, manifest, target, change), judged=manifest.id)


def _refused(plan: RestorePlan) -> RestorePlan:
    if plan.refusal is not None:
        raise plan.refusal.error
    return plan


def _migrated(context: Context, variant: Variant, present: Run, run: RunId, asked: Asked) -> RestorePlan:
    """The plan of the run that the parent begins on a migrated copy of its present state, of which a savepoint is taken then."""
    take = Take(variant.parent, label="before its state was migrated")
    planned = savepoints.planned_take(context, variant.parent, take, Reason.BEFORE_RESUME)
    plan = rewind.plan(planned.look, restore.Resume(variant.parent, job_places.next_checkpoints(context, variant.parent, run)))
    migrated = migrations.plan(rescaling.of_look(planned.look), asked, planned.source.spark_version)
    unfinished = None if present.state.live else migrations.unfinished(planned)
    return replace(plan, migration=migrated, refusal=unfinished or migrated.refusal, saves=(planned.label,))
