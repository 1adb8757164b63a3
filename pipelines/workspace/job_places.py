"""Jobs at a home: which place is fit for one, where its checkpoints and its output lie, and how they are removed with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pipelines.domain import job_places, masters
from pipelines.domain.errors import TidemarkError, Unsupported
from pipelines.domain.homes import USUAL, WORKSPACE
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.job_places import CONNECTOR, JARS
from pipelines.domain.jobs import Job
from pipelines.domain.versions import Version
from pipelines.sandbox import sparks
from pipelines.storage import folders
from pipelines.storage.addresses import S3_ADDRESSES, open_storage
from pipelines.workspace import events, homes
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable


def planned(context: Context, home: str, job: JobName, run: RunId, version: Version) -> str:
    """The folder at `home` that the job which `run` begins will have; empty where that is the workspace.

    Raises what `homes.checked` raises, Unsupported (`home.scheme`, `home.connector`), Conflict (`home.endpoint`, `home.credentials`), and
    Unavailable where the storage does not answer the server.
    """
    _refuse_afar(home, version)
    if not is_one(home):
        return ""
    url = homes.checked(context, home)
    if not url.startswith(S3_ADDRESSES):
        hint = "Give s3://bucket/folder, or leave --home out; savepoints can be kept at such a place (home set)."
        raise Unsupported("home.scheme", f"Jobs were not run at {url} yet", hint)
    job_places.refuse_unlike(version.conf, os.environ)
    job_places.refuse_without_connector(version.conf, *_of_spark(version))
    _refuse_missing(version.conf)
    place = job_places.at(url, job, run)
    next(iter(open_storage(place).list()), None)
    return place


def is_one(home: str) -> bool:
    """Whether `home`, as somebody said it, is not the workspace."""
    return home not in ("", WORKSPACE, USUAL)


def of_job(context: Context, job: JobName) -> str:
    """The job's folder at a home; empty for one in the workspace."""
    known = context.files.job(job)
    return known.place if known else ""


def checkpoints(context: Context, job: JobName, run: RunId, place: str) -> str:
    """Where the checkpoints lie that `run` begins, of a job whose folder at a home is `place`."""
    return job_places.checkpoints(place, run) if place else str(context.layout.checkpoints(job, run))


def output(context: Context, job: JobName, place: str) -> str:
    return job_places.output(place) if place else str(context.layout.output(job))


def remove(place: str) -> None:
    """All of the job's bytes there; nothing for one in the workspace."""
    if place:
        parent, _, name = place.rpartition("/")
        folders.remove(open_storage(parent), name)


def freed(context: Context, folder: Path) -> bool:
    """Whether nothing is left at a home of the job whose document is in `folder`, and which is no more; an event says what keeps it there,
    and the next opening tries again."""
    jobs = readable(lambda path: context.files.find(Job, path), [folder / context.layout.job_file(JobName("")).name], [])
    return all(_gone(context, folder.name, job.place) for job in jobs)


def run_freed(context: Context, job: JobName, run: RunId) -> bool:
    """The same of the checkpoints that a run of `job` was to begin, which nobody wants."""
    place = of_job(context, job)
    return _gone(context, run, job_places.checkpoints(place, run) if place else "")


def _gone(context: Context, subject: str, place: str) -> bool:
    try:
        remove(place)
    except TidemarkError as error:
        events.say(context, error.code, None, subject, f"{place} could not be removed: {error.message}; the next start tries again")
        return False
    return True


def not_rewritten() -> Unsupported:
    """Spark rewrites state on this machine's disk."""
    hint = "Fork it into the workspace (without --home): its state is rewritten there."
    return Unsupported("home.rewriting", "State that lies at a home cannot be migrated, converted or rescaled there yet", hint)


def _refuse_afar(home: str, version: Version) -> None:
    """Raises Unsupported (`master.cluster_mode`) for a driver on the cluster that would need something of this machine."""
    if not masters.is_afar(version.master, version.conf):
        return
    if not is_one(home):
        raise masters.refuse_afar("its checkpoint cannot lie here", "Give the job a home that both reach: --home s3://bucket/folder.")
    if version.requirements:
        hint = f"Give it an environment with spark.archives, or leave {masters.DEPLOY_MODE} out."
        raise masters.refuse_afar("the environment that Tidemark makes of requirements is here", hint)


def _of_spark(version: Version) -> tuple[str, bool]:
    """The Hadoop of the version's Spark, and whether the connector is among its jars."""
    spark, jars = sparks.of(version.python), sparks.jars(version.python)
    return spark.hadoop if spark else "", jars is not None and any(jars.glob(f"{CONNECTOR}-*.jar"))


def _refuse_missing(conf: Mapping[str, str]) -> None:
    """Raises Unsupported (`home.connector`) for a jar of this machine that is not there."""
    named = (path.strip().removeprefix("file://") for path in conf.get(JARS, "").split(","))
    missing = next((path for path in named if path.startswith("/") and "*" not in path and not Path(path).is_file()), "")
    if missing:
        raise Unsupported("home.connector", f"{JARS} names {missing}, which is not there", f"Fetch {job_places.ARTIFACT} again from Maven.")
