"""Forks: a new job from a savepoint, with its own checkpoint, query ids and output."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.catalog import jobs as job_rows
from pipelines.domain import kafka
from pipelines.domain.ids import ExperimentId, JobName, RunId, job_name
from pipelines.domain.jobs import Origin, Run
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.versions import Version
from pipelines.verbs.fork import Fork, Variant
from pipelines.workspace import environments, lockstep, query_names, restores, runs, savepoints, verdicts, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.query_names import QueryNames
from pipelines.workspace.restores import Restoring
from pipelines.workspace.tickets import Ticket


@dataclass(frozen=True)
class PlannedFork:
    """A fork to begin: its savepoint, its job and version, and the restore of its checkpoint."""

    manifest: Manifest
    job: JobName
    run: RunId
    version: Version
    restoring: Restoring
    names: QueryNames
    plan: RestorePlan


@plans(Fork)
def plan(context: Context, change: Fork) -> Planned[Run, RestorePlan]:
    """Raises AlreadyExists for a name in use, Invalid for code with a syntax error, Incompatible where a sink cannot be carried on."""
    fork = plan_fork(context, change)
    return Planned(fork.plan, lambda ticket: begin(context, fork, ticket))


def plan_fork(context: Context, change: Fork) -> PlannedFork:
    return plan_variant(context, savepoints.manifest(context, change.savepoint), change)


def plan_variant(context: Context, manifest: Manifest, variant: Variant) -> PlannedFork:
    """Plans a fork of the savepoint; refuses what beginning it would refuse."""
    name = job_name(variant.name)
    version = versions.of_fork(manifest, variant, context.now_ms())
    versions.check_here(context, version)
    runs.free(context, name)
    run = RunId(context.new_id("r"))
    restoring = restores.of_fork(context, manifest, name, run, version, variant)
    names = query_names.restored(manifest, variant.new_queries)
    verdict = verdicts.known(context, manifest, version, variant.new_queries)
    restored = restoring.plan()
    following = lockstep.plan(context, manifest, variant)
    refused = restored.refusal or (None if variant.force else verdicts.refusal(verdict))
    builds = environments.is_missing(context, version)
    shown = replace(restored, run=run, version=version.id, verdict=verdict, judged=manifest.id, refusal=refused, builds=builds)
    shown = replace(shown, lock_step=following)
    return PlannedFork(manifest, name, run, version, restoring, names, shown)


def begin(context: Context, fork: PlannedFork, ticket: Ticket) -> Run:
    with context.holding(fork.job):
        return runs.publish(context, prepare(context, fork, None, ticket))


def prepare(context: Context, fork: PlannedFork, experiment: ExperimentId | None, ticket: Ticket) -> runs.Prepared:
    """Makes a fork whole but for `wanted.json`; the caller holds the job. Raises what its plan refuses."""
    if fork.plan.refusal is not None:
        raise fork.plan.refusal.error
    frozen = versions.freeze(context, fork.version, ticket)
    origin = Origin(fork.manifest.id, fork.manifest.job, experiment)
    with context.catalog.reading() as reader:
        like = job_rows.find(reader, origin.job)
    lead = fork.plan.lock_step.lead if fork.plan.lock_step else None
    taken = tuple(topic for image in fork.manifest.queries for topic in _topics(image, origin.job))
    return runs.prepare(context, fork.job, fork.run, frozen, origin, lambda: fork.restoring.apply(ticket), fork.names, like, lead, taken)


def _topics(image: QueryImage, job: JobName) -> tuple[str, ...]:
    """The Kafka topics that a query of `job` keeps from its forks."""
    return kafka.taken_topics(image.sink_table, job) if image.sink.lower() == kafka.KAFKA else ()
