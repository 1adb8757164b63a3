"""Jobs at a home: where the checkpoints and the output of one lie, and how they are removed with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.domain import job_places
from pipelines.domain.errors import TidemarkError
from pipelines.domain.homes import is_folder, mark_of, unmarked
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Job
from pipelines.domain.savepoints import Manifest
from pipelines.savepoint import restore
from pipelines.storage import folders, handover, rights
from pipelines.storage.addresses import open_storage
from pipelines.workspace import events, homes
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable


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
