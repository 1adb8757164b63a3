"""Scripts that become jobs: from nothing, or on a savepoint's state, which is a fork with that script."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipelines.domain import files, masters, secrets, spark_metrics
from pipelines.domain.errors import Incompatible, Invalid, refusal
from pipelines.domain.ids import RunId, job_name
from pipelines.domain.job_places import is_remote
from pipelines.domain.jobs import Run
from pipelines.domain.resources import ALL
from pipelines.domain.restores import RestorePlan
from pipelines.domain.runtimes import Runtime
from pipelines.domain.verdicts import drops_elsewhere
from pipelines.domain.versions import Version, version
from pipelines.verbs.fork import Fork
from pipelines.verbs.run import RunPlan, RunScript
from pipelines.workspace import checked, environments, forks, job_places, job_resources, new_places, runs, runtimes, savepoints, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.forks import PlannedFork
from pipelines.workspace.new_places import AtHome
from pipelines.workspace.runs import Beginning
from pipelines.workspace.tickets import Ticket


@plans(RunScript)
def plan(context: Context, change: RunScript) -> Planned[Run, RunPlan]:
    """Raises AlreadyExists (`job.exists`), Invalid (`job.name`, `code.syntax`, `code.script`, `runtime.not_found`, `master.conf`),
    what a fork raises."""
    if change.from_savepoint:
        asked = _fork(context, change)
        fork = forks.without_drop(forks.plan_fork(context, asked))
        begins = Beginning(fork.job, fork.run, fork.version, taken=fork.plan.resources)
        shown = _plan(context, begins, fork.plan, fork.at_home.place)
        return Planned(shown, lambda ticket: _begin_fork(context, asked, fork, ticket), fork.version)
    name, version, run = job_name(change.name), _version(change, context.now_ms()), RunId(context.new_id("r"))
    versions.check_here(context, version)
    runs.free(context, name)
    begins = Beginning(name, run, version, taken=job_resources.asked(ALL, change, version))
    at_home = new_places.planned(context, change.home, name, run, version)
    shown = _plan(context, begins, None, at_home.place)
    return Planned(shown, lambda ticket: _begin(context, begins, at_home, ticket), version)


def _fork(context: Context, change: RunScript) -> Fork:
    """The fork with that script, and none of the files that the savepoint's own had."""
    theirs = savepoints.manifest(context, change.from_savepoint).version.files
    return Fork(
        change.from_savepoint,
        name=change.name,
        code=change.code,
        script=change.script,
        args=change.args,
        conf=_confs(change),
        master=change.master,
        python=change.python or None,
        java_home=change.java_home or None,
        new_queries=change.new_queries,
        files=files.instead_of(theirs, change.files),
        outside=change.outside,
        requirements=change.requirements,
        memory_bytes=change.memory_bytes,
        cpus=change.cpus,
        home=change.home,
        check=change.check,
    )


def _begin_fork(context: Context, asked: Fork, fork: PlannedFork, ticket: Ticket) -> Run:
    """Once its check lets it; of state that would be dropped the refusal says where that can be accepted."""
    try:
        return checked.begun(context, asked, fork.plan, fork.version, ticket, lambda ticket: forks.begin(context, fork, ticket))
    except Incompatible as error:
        raise drops_elsewhere(refusal(error)).error from error


def _confs(change: RunScript) -> dict[str, str]:
    """The confs of its presets of Spark's metrics; those that are given stand before them. Invalid (`spark_metrics.folder`) for a folder
    that is not there: Spark would only complain in the log."""
    for preset in change.spark_metrics:
        folder = spark_metrics.folder(preset)
        if folder.startswith("/") and not Path(folder).is_dir():
            raise Invalid("spark_metrics.folder", f"{folder!r} is no folder, and Spark's CSV sink makes none", "Make it first.")
    return {**spark_metrics.confs(change.spark_metrics), **change.conf}


def _version(change: RunScript, now_ms: int) -> Version:
    runtime, conf = runtimes.named(Runtime(change.python, change.java_home)), secrets.unmasked(_confs(change), {})
    masters.check_confs(change.master, conf)
    return version(
        versions.script_name(change.script),
        change.code,
        args=secrets.unmasked_args(change.args, ()),
        conf=conf,
        master=change.master,
        python=runtime.python,
        java_home=runtime.java_home,
        source=change.source or change.script,
        created_ms=now_ms,
        files=files.changed({}, change.files),
        outside=change.outside,
        requirements=versions.given(change.requirements),
    )


def _plan(context: Context, begins: Beginning, restore: RestorePlan | None, place: str) -> RunPlan:
    version, output = begins.version, job_places.output(context, begins.job, place)
    return RunPlan(
        begins.job,
        begins.run,
        version.id,
        version.script,
        secrets.masked_args(version.args),
        secrets.masked(version.conf),
        version.master,
        version.python,
        output,
        restore,
        tuple(sorted(version.files)),
        environments.is_missing(context, version),
        version.java_home,
        begins.taken,
        job_resources.means(begins.taken),
        place,
        () if restore else (*masters.remarks(version.master, version.conf, at_home=is_remote(place)), *secrets.literals(version.conf)),
    )


def _begin(context: Context, begins: Beginning, at_home: AtHome, ticket: Ticket) -> Run:
    begins = replace(begins, version=versions.freeze(context, begins.version, ticket))
    with context.holding(begins.job):
        return runs.publish(context, runs.prepare(context, begins, dict, at_home=at_home))
