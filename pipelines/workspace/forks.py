"""Forks: a new job from a savepoint, with its own checkpoint, query ids and output."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.errors import Invalid
from pipelines.domain.ids import ExperimentId, JobName, RunId, job_name
from pipelines.domain.jobs import Origin, Run
from pipelines.domain.requests import ForkRequest
from pipelines.domain.savepoints import Manifest, RestorePlan
from pipelines.domain.versions import Version
from pipelines.workspace import query_names, restores, runs, savepoints, versions
from pipelines.workspace.context import Context


def fork(context: Context, savepoint: str, request: ForkRequest) -> Run | RestorePlan:
    """Raises AlreadyExists for a name in use, Invalid for code with a syntax error, Incompatible where a sink cannot be carried on."""
    return plan(context, savepoint, request) if request.dry_run else begin(context, savepoint, request)


def plan(context: Context, savepoint: str, request: ForkRequest) -> RestorePlan:
    """What the fork would do; refuses what the fork would refuse."""
    name = job_name(request.name)
    manifest = savepoints.manifest(context, savepoint)
    asked = asked_version(context, manifest, request)
    versions.check_syntax(asked.script, asked.code)
    runs.free(context, name)
    return restores.of_fork(context, manifest, name, RunId(context.new_id("r")), asked, request.sinks).plan()


def begin(context: Context, savepoint: str, request: ForkRequest) -> Run:
    name = job_name(request.name)
    with context.holding(name):
        return runs.publish(context, prepare(context, savepoint, request, None))


def prepare(context: Context, savepoint: str, request: ForkRequest, experiment: ExperimentId | None) -> runs.Prepared:
    """A fork that only waits for being wanted; the caller holds the job."""
    manifest = savepoints.manifest(context, savepoint)
    frozen = versions.freeze(context, asked_version(context, manifest, request))
    name = job_name(request.name)
    origin = Origin(manifest.id, manifest.job, experiment)
    names = query_names.restored(manifest, request.new_queries)
    return runs.prepare(context, name, frozen, origin, lambda run: _carry(context, manifest, name, run, frozen, request.sinks), names)


def _carry(context: Context, manifest: Manifest, name: JobName, run: RunId, frozen: Version, sinks: Mapping[str, str]) -> dict[str, str]:
    return restores.of_fork(context, manifest, name, run, frozen, sinks).apply()


def asked_version(context: Context, manifest: Manifest, request: ForkRequest) -> Version:
    """The savepoint's version with the request's changes; raises Invalid (`fork.code_needed`) where neither has code."""
    if request.code is None and not manifest.version.code:
        message = f"Savepoint {manifest.id} is of {manifest.job}, a job that was attached without its code"
        raise Invalid("fork.code_needed", message, "Name the script that goes on with it (--code FILE).")
    change = versions.Change(request.code, request.script, request.args, request.conf, request.master, request.python)
    return versions.changed(manifest.version, change, context.now_ms())
