"""Jobs at a home: which place is fit for one, where its checkpoints and its output lie, and how they are removed with it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain import job_places, masters
from pipelines.domain.errors import TidemarkError, Unsupported
from pipelines.domain.homes import USUAL, WORKSPACE, is_folder, is_untried, mark_of, unmarked
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.job_places import CONNECTOR, JARS
from pipelines.domain.jobs import Job
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.sandbox import sparks
from pipelines.savepoint import restore
from pipelines.storage import capabilities, folders, handover, rights, users
from pipelines.storage.addresses import HDFS_ADDRESSES, S3_ADDRESSES, STORE_ADDRESSES, open_storage
from pipelines.workspace import events, homes
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable


@dataclass(frozen=True)
class AtHome:
    """Where a job's bytes lie that are not in the workspace: its folder at a home, and the home of its savepoints."""

    home: str = ""
    place: str = ""


HERE = AtHome()


def planned(context: Context, home: str, job: JobName, run: RunId, version: Version) -> AtHome:
    """Where the job will lie that `run` begins at `home`.

    Raises what `homes.checked` raises, Unsupported (`home.scheme`, `home.webhdfs`, `home.connector`), Conflict (`home.endpoint`,
    `home.credentials`), Invalid (`home.namenode`, `storage.namenode`), and Unavailable where the storage does not answer the server, or
    lets nobody write there, or is a disk that is not mounted (`home.away`).
    """
    home = context.files.usual_home().jobs if home in ("", USUAL) else home
    if home in ("", WORKSPACE):
        _refuse_afar(home, version)
        return AtHome(home)
    url = home if is_untried(home) else homes.checked(context, home)
    _refuse_afar(url, version)
    if url.startswith(S3_ADDRESSES):
        _refuse_s3(version)
    elif url.startswith(HDFS_ADDRESSES):
        _refuse_hdfs(url, version)
    refuse_scheme(url)
    homes.refuse_away(context, open_storage(url))
    place = job_places.at(url, job, run)
    storage = open_storage(place)
    next(iter(storage.list()), None)
    capabilities.refuse_unwritable(storage)
    return AtHome(url, place)


def _refuse_s3(version: Version) -> None:
    job_places.refuse_unlike(version.conf, os.environ)
    job_places.refuse_without_connector(version.conf, _hadoop_of(version), _has_jar(version, (CONNECTOR,)))
    _refuse_missing(version.conf)


def _refuse_hdfs(url: str, version: Version) -> None:
    job_places.refuse_unwritten(url)
    job_places.refuse_another_user(os.environ, users.name())
    job_places.refuse_without_hdfs(version.conf, os.environ, _has_jar(version, job_places.HDFS_CLIENTS))


def refuse_scheme(url: str) -> None:
    """Raises Unsupported (`home.scheme`) for a storage in which no job was run."""
    if not is_folder(url) and not url.startswith(STORE_ADDRESSES):
        hint = (
            "Give s3://bucket/folder, hdfs://host:8020/folder or a whole path, or leave --home out; savepoints can be kept at such a place "
            "(home set)."
        )
        raise Unsupported("home.scheme", f"Jobs were not run at {url} yet", hint)


def of_job(context: Context, job: JobName) -> str:
    """The job's folder at a home; empty for one in the workspace."""
    known = context.files.job(job)
    return known.place if known else ""


def checkpoints(context: Context, job: JobName, run: RunId, place: str) -> str:
    """Where the checkpoints lie that `run` begins, of a job whose folder at a home is `place`."""
    return job_places.checkpoints(place, run) if place else str(context.layout.checkpoints(job, run))


def next_checkpoints(context: Context, job: JobName, run: RunId) -> str:
    """Those of a `run` of a job that there is already."""
    return checkpoints(context, job, run, of_job(context, job))


def output(context: Context, job: JobName, place: str) -> str:
    return job_places.output(place) if place else str(context.layout.output(job))


def output_of(context: Context, job: JobName) -> str:
    """`{output}` of a job that there is, or was."""
    return output(context, job, of_job(context, job))


def parent_output(context: Context, manifest: Manifest) -> str:
    """The parent's `{output}`. An attached job runs elsewhere, without that word: there it is the directory of its file sink."""
    parent = context.files.job(manifest.job)
    attached = parent is not None and parent.attached
    elsewhere = next((image.sink_path for image in manifest.queries if image.sink_path), "") if attached else ""
    return elsewhere or output_of(context, manifest.job)


def mark_home(place: str) -> None:
    """Makes the home of a job's folder, with its mark, where it is a disk of this machine; nothing elsewhere."""
    if is_folder(place):
        homes.mark(open_storage(job_places.home_of(place)))


def make(place: str) -> None:
    """Makes a new job's folder on a disk of this machine, with the modes of one in a workspace; nothing elsewhere."""
    if is_folder(place):
        rights.make_passage(Path(place))
        Path(place, job_places.CHECKPOINTS).mkdir()


def hand_over(place: str, folder: str) -> None:
    """Gives the user of jobs' code a folder of a job, whose own at a home is `place`; nothing in another storage than this machine's."""
    if is_folder(place):
        root = Path(os.path.realpath(place))
        handover.hand_over(root / Path(folder).relative_to(place), root)
    elif not place:
        handover.hand_over(Path(folder))


def mark(place: str) -> str:
    """The file without which nothing of a job in `place` begins; empty where none is needed."""
    return mark_of(job_places.home_of(place))


def refuse_away(context: Context, job: JobName) -> None:
    """Raises Unavailable (`home.away`) for a job whose bytes lie on a disk that is not mounted."""
    _refuse_away(of_job(context, job))


def is_there(mark: str) -> bool:
    """Whether the disk is mounted that has this mark; of another storage, without one, nobody doubts it here."""
    return not mark or Path(mark).is_file()


def _refuse_away(place: str) -> None:
    if not is_there(needed := mark(place)):
        raise unmarked(needed)


def remove(place: str, folder: str = "") -> None:
    """All of the job's bytes in `place`, or what is in a `folder` of it; nothing for one in the workspace. Raises Unavailable (`home.away`)
    for a disk that is not mounted."""
    if place:
        _refuse_away(place)
        parent, _, name = (folder or place).rpartition("/")
        folders.remove(open_storage(parent), name)


def freed(context: Context, folder: Path) -> bool:
    """Whether nothing is left at a home of the job whose document is in `folder`, and which is no more; an event says what keeps it there,
    and the next opening tries again."""
    jobs = readable(lambda path: context.files.find(Job, path), [folder / context.layout.job_file(JobName("")).name], [])
    return all(_gone(context, folder.name, job.place, job.place) for job in jobs)


@contextmanager
def noted(context: Context, job: JobName, run: RunId) -> Iterator[None]:
    """An empty folder says here, while the block lasts, that checkpoints of `run` are made at the job's home: by it the next opening finds
    what a crash left there. It stays when the block raises."""
    folder = context.layout.checkpoints(job, run) if of_job(context, job) else None
    if folder is not None:
        folder.mkdir(parents=True)
    yield
    if folder is not None:
        folder.rmdir()


def run_freed(context: Context, job: JobName, run: RunId) -> bool:
    """The same of the checkpoints that a run of `job` was to begin, which nobody wants, whole or in the making."""
    place = of_job(context, job)
    folder = job_places.checkpoints(place, run) if place else ""
    return not place or all(_gone(context, run, place, each) for each in (folder, restore.unfinished(folder)))


def _gone(context: Context, subject: str, place: str, folder: str) -> bool:
    try:
        remove(place, folder)
    except TidemarkError as error:
        events.say(context, error.code, None, subject, f"{folder} could not be removed: {error.message}; the next start tries again")
        return False
    return True


def _refuse_afar(home: str, version: Version) -> None:
    """Raises Unsupported (`master.cluster_mode`) for a driver on the cluster that would need something of this machine."""
    if not masters.is_afar(version.master, version.conf):
        return
    if home in ("", WORKSPACE) or is_folder(home):
        raise masters.refuse_afar("its checkpoint cannot lie here", "Give the job a home that both reach: --home s3://bucket/folder.")
    if version.requirements:
        hint = f"Give it an environment with spark.archives, or leave {masters.DEPLOY_MODE} out."
        raise masters.refuse_afar("the environment that Tidemark makes of requirements is here", hint)


def _hadoop_of(version: Version) -> str:
    """The Hadoop of the version's Spark; empty where that is not known."""
    spark = sparks.of(version.python)
    return spark.hadoop if spark else ""


def _has_jar(version: Version, names: Sequence[str]) -> bool:
    """Whether one of these is among the jars of the version's Spark."""
    jars = sparks.jars(version.python)
    return jars is not None and any(True for name in names for _ in jars.glob(f"{name}-*.jar"))


def _refuse_missing(conf: Mapping[str, str]) -> None:
    """Raises Unsupported (`home.connector`) for a jar of this machine that is not there."""
    named = (path.strip().removeprefix("file://") for path in conf.get(JARS, "").split(","))
    missing = next((path for path in named if path.startswith("/") and "*" not in path and not Path(path).is_file()), "")
    if missing:
        raise Unsupported("home.connector", f"{JARS} names {missing}, which is not there", f"Fetch {job_places.ARTIFACT} again from Maven.")
