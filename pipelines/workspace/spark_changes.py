"""State that goes on under another Spark: said in the plan, refused where it is known not to go, else rehearsed before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipelines.domain import spark_changes
from pipelines.domain.errors import Incompatible, refusal
from pipelines.domain.ids import JobName
from pipelines.domain.restores import RestorePlan
from pipelines.domain.runtimes import is_other
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.versions import Version
from pipelines.workspace import events, runtimes
from pipelines.workspace.aggregations import Asked
from pipelines.workspace.context import Context
from pipelines.workspace.rehearsed_copies import rehearsed
from pipelines.workspace.safety import Safety
from pipelines.workspace.tickets import Ticket
from pipelines.workspace.verdicts import stand_in


def told(context: Context, plan: RestorePlan, images: Sequence[QueryImage], before: str, version: Version) -> RestorePlan:
    """The plan of a run of `version` on the state that `images` show and Spark `before` has written, with what another Spark means."""
    now = runtimes.spark_version(context, version)
    if not is_other(before, now):
        return plan
    refused = next(spark_changes.refusals(images, before, now), None)
    warnings = (*plan.warnings, *spark_changes.warnings(images, before, now, version.conf))
    refused_first = plan.refusal or (refusal(refused) if refused is not None else None)
    return replace(plan, spark=now, spark_before=before, warnings=warnings, refusal=refused_first)


def told_of_savepoint(context: Context, plan: RestorePlan, manifest: Manifest, version: Version) -> RestorePlan:
    return told(context, plan, manifest.queries, manifest.spark_version, version)


def told_of_present(context: Context, plan: RestorePlan, job: JobName, safe: Safety, version: Version) -> RestorePlan:
    """The same for the present state of `job`: what is saved of it first shows it, else the savepoint that stands for it."""
    if safe.take is not None:
        return told(context, plan, safe.take.look.images, safe.take.source.spark_version, version)
    manifest = stand_in(context, job)
    return plan if manifest is None else told_of_savepoint(context, plan, manifest, version)


def rehearse(
    context: Context,
    manifest: Manifest,
    version: Version,
    new_queries: tuple[str, ...],
    ticket: Ticket,
    *,
    is_forced: bool,
    migrate: Asked | None,
) -> None:
    """Where `version`, whose environment is made, runs on another Spark than the savepoint's: a batch of it on a copy, every sink replaced,
    unless it is forced, or `migrate` says how its state is rewritten first: a migration rehearses what it has made.

    Raises Incompatible (`runtime.format`, `runtime.operator`, `runtime.rehearsal`) where it does not go on, Unavailable, and what `ticket`
    raises; nothing has been started then."""
    now, before = runtimes.spark_version(context, version), manifest.spark_version
    if not is_other(before, now):
        return
    for refused in spark_changes.refusals(manifest.queries, before, now):
        raise refused
    if is_forced or migrate is not None:
        return
    with rehearsed(context, manifest, version, new_queries, ticket) as (ran, _):
        problem = ran.problem
    if problem:
        hint = f"Go on with Spark {before} (--runtime), or change the code so that it runs on {now}. Nothing was started."
        raise Incompatible("runtime.rehearsal", f"On Spark {now} it does not go on with the state of Spark {before}. {problem}", hint)
    batches = ", ".join(f"batch {batch.batch} of {batch.query}" for batch in ran.batches)
    message = f"On Spark {now} it goes on with the state of Spark {before}: {f'rehearsed {batches}' if batches else ran.note}"
    events.say(context, "runtime.rehearsed", manifest.job, manifest.id, message)
