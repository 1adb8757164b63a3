"""What jobs may take of this machine: part of `job.json`, told to each run when it begins."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain import masters, resources
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.domain.resources import Means, Resources
from pipelines.domain.versions import Version
from pipelines.sandbox import holding
from pipelines.verbs.resources import ResourcesPlan, SetResources, Taking
from pipelines.workspace import attachments, events, repairs, runs, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans


def asked(before: Resources, change: Taking, version: Version) -> Resources:
    """What a job whose run executes `version` may take. Raises what `resources.changed` and `resources.confs` raise, and Unsupported
    (`master.cluster_mode`)."""
    after = resources.changed(before, change.memory_bytes, change.cpus)
    resources.confs(after, version.conf)
    if after.are_limited and masters.is_afar(version.master, version.conf):
        raise masters.refuse_afar("limits of this machine do not hold there", "Set spark.driver.memory and spark.driver.cores instead.")
    return after


def means(taken: Resources) -> Means | None:
    """What will hold a job to its limits on this machine; None where it has none."""
    return holding.means() if taken.are_limited else None


@plans(SetResources)
def plan(context: Context, change: SetResources) -> Planned[Job, ResourcesPlan]:
    """Raises what `asked` raises, Invalid (`resources.nothing`), Conflict (`job.attached`)."""
    name = runs.known(context, change.job)
    attachments.refuse(context, name, "limited")
    if change.memory_bytes is None and change.cpus is None:
        raise Invalid("resources.nothing", "No limit was given", "Give --memory or --cpus; 'none' and 0 take one away.")
    before, newest = repairs.known_job(context, name).resources, runs.newest(context, name)
    after = resources.changed(before, change.memory_bytes, change.cpus)
    if newest is not None:
        after = asked(before, change, versions.get(context, newest.version))
    return Planned(ResourcesPlan(name, before, after, means(after)), lambda _: _set(context, name, change))


def _set(context: Context, name: JobName, change: SetResources) -> Job:
    """Applies one change at a time to the newest limits: first the file, then the index."""
    with context.holding(name):
        before = repairs.known_job(context, name)
        job = replace(before, resources=resources.changed(before.resources, change.memory_bytes, change.cpus))
        repairs.save(context, job)
    events.say(context, "job.resources", name, name, f"what {name} may take is changed, from its next start on")
    return job
