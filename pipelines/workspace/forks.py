"""Forks: a new job from a savepoint, with its own checkpoint, query ids and output."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.errors import Invalid
from pipelines.domain.ids import ExperimentId, JobName, RunId, job_name
from pipelines.domain.jobs import Origin, Run
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.storage.watching import Watch
from pipelines.verbs.fork import Fork, Variant
from pipelines.workspace import query_names, restores, runs, savepoints, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.query_names import QueryNames
from pipelines.workspace.restores import Restoring


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
    version = _version(context, manifest, variant)
    versions.check(version)
    runs.free(context, name)
    run = RunId(context.new_id("r"))
    restoring = restores.of_fork(context, manifest, name, run, version, variant.sinks)
    names = query_names.restored(manifest, variant.new_queries)
    shown = replace(restoring.plan(), run=run, version=version.id)
    return PlannedFork(manifest, name, run, version, restoring, names, shown)


def begin(context: Context, fork: PlannedFork, watch: Watch) -> Run:
    with context.holding(fork.job):
        return runs.publish(context, prepare(context, fork, None, watch))


def prepare(context: Context, fork: PlannedFork, experiment: ExperimentId | None, watch: Watch) -> runs.Prepared:
    """Makes a fork whole but for `wanted.json`; the caller holds the job."""
    frozen = versions.freeze(context, fork.version)
    origin = Origin(fork.manifest.id, fork.manifest.job, experiment)
    return runs.prepare(context, fork.job, fork.run, frozen, origin, lambda: fork.restoring.apply(watch), fork.names)


def _version(context: Context, manifest: Manifest, variant: Variant) -> Version:
    """The savepoint's version with the variant's changes; raises Invalid (`fork.code_needed`) where neither has code."""
    if variant.code is None and not manifest.version.code:
        message = f"Savepoint {manifest.id} is of {manifest.job}, a job that was attached without its code"
        raise Invalid("fork.code_needed", message, "Name the script that goes on with it (--code FILE).")
    return versions.changed(manifest.version, variant, context.now_ms())
