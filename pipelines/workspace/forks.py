"""Forks: a new job from a savepoint, with its own checkpoint, query ids and output."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.errors import Invalid
from pipelines.domain.ids import ExperimentId, JobName, RunId, job_name
from pipelines.domain.jobs import Origin, Run
from pipelines.domain.requests import ForkRequest
from pipelines.domain.savepoints import Manifest, RestorePlan
from pipelines.domain.versions import Version
from pipelines.workspace import expected, restores, runs, savepoints, versions
from pipelines.workspace.parts import Parts


def fork(parts: Parts, savepoint: str, request: ForkRequest) -> Run | RestorePlan:
    """Raises AlreadyExists for a name in use, Invalid for code with a syntax error, Incompatible where a sink cannot be carried on."""
    return plan(parts, savepoint, request) if request.dry_run else begin(parts, savepoint, request)


def plan(parts: Parts, savepoint: str, request: ForkRequest) -> RestorePlan:
    """What the fork would do; refuses what the fork would refuse."""
    name = job_name(request.name)
    manifest = savepoints.manifest(parts, savepoint)
    asked = asked_version(parts, manifest, request)
    versions.check_syntax(asked.script, asked.code)
    runs.free(parts, name)
    return restores.of_fork(parts, manifest, name, RunId(parts.new_id("r")), asked, request.sinks).plan()


def begin(parts: Parts, savepoint: str, request: ForkRequest) -> Run:
    name = job_name(request.name)
    with parts.holding(name):
        return runs.publish(parts, prepare(parts, savepoint, request, None))


def prepare(parts: Parts, savepoint: str, request: ForkRequest, experiment: ExperimentId | None) -> runs.Prepared:
    """A fork that only waits for being wanted; the caller holds the job."""
    manifest = savepoints.manifest(parts, savepoint)
    frozen = versions.freeze(parts, asked_version(parts, manifest, request))
    name = job_name(request.name)
    origin = Origin(manifest.id, manifest.job, experiment)
    names = expected.restored(manifest, request.new_queries)
    return runs.prepare(parts, name, frozen, origin, lambda run: _carry(parts, manifest, name, run, frozen, request.sinks), names)


def _carry(parts: Parts, manifest: Manifest, name: JobName, run: RunId, frozen: Version, sinks: Mapping[str, str]) -> dict[str, str]:
    return restores.of_fork(parts, manifest, name, run, frozen, sinks).apply()


def asked_version(parts: Parts, manifest: Manifest, request: ForkRequest) -> Version:
    """The savepoint's version with the request's changes; raises Invalid (`fork.code_needed`) where neither has code."""
    if request.code is None and not manifest.version.code:
        message = f"Savepoint {manifest.id} is of {manifest.job}, a job that was attached without its code"
        raise Invalid("fork.code_needed", message, "Name the script that goes on with it (--code FILE).")
    change = versions.Change(request.code, request.script, request.args, request.conf, request.master, request.python)
    return versions.changed(manifest.version, change, parts.now_ms())
