"""Where new savepoints are kept (a job's home is part of its `job.json`, the workspace's is `home.json`), and which place is fit for it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pipelines.domain.errors import Invalid, TidemarkError, Unavailable
from pipelines.domain.homes import USUAL, WORKSPACE, HomeCheck, Homes, Step, TriedStep, UsedHome
from pipelines.domain.ids import JobName
from pipelines.domain.savepoints import Savepoint
from pipelines.storage import folders
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone, Storage
from pipelines.verbs.homes import CheckHome, CheckHomePlan, HomePlan, ListHomes, SetHome
from pipelines.workspace import events, homes, new_places, repairs, runs, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.tickets import Ticket

CONTENT = b"Written to try out whether savepoints can be kept here.\n"
EVERY_JOB = JobName("")
MOST_MARKED = 1_000


@answers(ListHomes)
def shown(context: Context, question: ListHomes) -> Homes:
    """Asks no storage: what is listed is what the workspace knows."""
    own = {name: job.home for name in context.files.job_names() if (job := context.files.job(name)) is not None and job.home}
    settings = context.files.usual_home()
    return Homes(settings.home or WORKSPACE, settings.jobs or WORKSPACE, own, tuple(_used(context)))


@plans(SetHome)
def plan_set(context: Context, change: SetHome) -> Planned[Homes, HomePlan]:
    """Raises NotFound (`job.not_found`), Invalid (`home.usual`, `home.jobs`), what `homes.checked` raises, and Unsupported (`home.scheme`)
    for a home of jobs where none was run; done, Unavailable (`home.unfit`)."""
    job = runs.known(context, change.job) if change.job else EVERY_JOB
    if change.home == USUAL and not job:
        raise Invalid("home.usual", "No job was named that goes back to the usual home", f"Name the job, or say '{WORKSPACE}'.")
    if change.jobs and job:
        hint = f"Leave --jobs out: a job stays where it began. Fork it with --home {change.home}, to have a job there."
        raise Invalid("home.jobs", f"{job} has begun already, and only new jobs begin elsewhere", hint)
    home = change.home if change.home in (USUAL, WORKSPACE) else homes.checked(context, change.home, untested=change.untested)
    if change.jobs and home != WORKSPACE:
        new_places.refuse_scheme(home)
    before = repairs.known_job(context, job).home or USUAL if job else context.files.usual_home().home or WORKSPACE
    return Planned(HomePlan(job, before, home, change.jobs), lambda ticket: _set(context, job, home, ticket, jobs=change.jobs))


@plans(CheckHome)
def plan_check(context: Context, change: CheckHome) -> Planned[HomeCheck, CheckHomePlan]:
    """Raises what `homes.checked` raises; to try out a storage on which no test ran asks for no leave."""
    home = homes.checked(context, change.home, untested=True)
    return Planned(CheckHomePlan(home), lambda ticket: checked(context, home, ticket))


def checked(context: Context, home: str, ticket: Ticket) -> HomeCheck:
    """Tries out what a savepoint asks of a storage; for a folder of this machine that is not there yet, where it will be made."""
    storage, folder = _there(open_storage(home)), f".tidemark-{context.new_id('check')}"
    path, other = f"{folder}/one", f"{folder}/other"
    steps: list[TriedStep] = []
    work: list[tuple[Step, Callable[[], str]]] = [
        (Step.WRITE, lambda: _write(storage, path)),
        (Step.READ, lambda: _same(storage.read(path) == CONTENT, "what was read is not what was written")),
        (Step.LIST, lambda: _same([entry.path for entry in storage.list(folder)] == [path], "what was written is not in the list")),
        (Step.COPY, lambda: next(iter(storage.clone(storage, [Clone(path, other)]))).value),
        (Step.DELETE, lambda: _delete(storage, folder, [path, other])),
    ]
    for step, does in work:
        ticket.check()
        steps.append(_tried(step, does))
        if steps[-1].failed:
            with suppress(TidemarkError):  # what fails is said already
                storage.delete([path, other])
            break
    return HomeCheck(home, tuple(steps))


def _tried(step: Step, does: Callable[[], str]) -> TriedStep:
    began = time.perf_counter()
    try:
        how = does()
    except TidemarkError as error:
        return TriedStep(step, (time.perf_counter() - began) * 1_000, error.message)
    return TriedStep(step, (time.perf_counter() - began) * 1_000, how=how)


def _there(home: Storage) -> Storage:
    if not folders.local(home):
        return home
    place = Path(home.url)
    return open_storage(str(next(path for path in (place, *place.parents) if path.exists())))


def _write(storage: Storage, path: str) -> str:
    storage.write(path, CONTENT)
    return ""


def _same(is_so: bool, otherwise: str) -> str:
    if not is_so:
        raise Unavailable("home.unfit", otherwise, "")
    return ""


def _delete(storage: Storage, folder: str, paths: list[str]) -> str:
    storage.delete(paths)
    return _same(next(iter(storage.list(folder)), None) is None, "what was deleted is still in the list")


def _set(context: Context, job: JobName, home: str, ticket: Ticket, *, jobs: bool) -> Homes:
    """Only a place that is fit becomes a home."""
    if home not in (USUAL, WORKSPACE):
        homes.refuse_away(context, open_storage(home))
        failed = checked(context, home, ticket).failed
        if failed is not None:
            hint = "Mend its rights, or its settings in the environment of the server (`about` names them)."
            raise Unavailable("home.unfit", f"Savepoints cannot be kept at {home}: {failed.step} fails: {failed.failed}", hint)
        _mark(context, home)
    if job:
        with context.holding(job):
            repairs.save(context, replace(repairs.known_job(context, job), home="" if home == USUAL else home))
    else:
        with context.claiming("home"):
            before, url = context.files.usual_home(), "" if home == WORKSPACE else home
            context.files.write(context.layout.usual_home_file, replace(before, home=url, jobs=url if jobs else before.jobs))
    of = f"of {job}" if job else "of every job that does not say otherwise"
    events.say(context, "home.set", job or None, home, f"new savepoints {of} are kept at {home}{', and new jobs begin there' * jobs}")
    return shown(context, ListHomes())


def _mark(context: Context, home: str) -> None:
    """Marks a folder of this machine, and keeps that: from here on it is known to be away when it is."""
    storage = open_storage(home)
    homes.mark(storage)
    with context.claiming("home"):
        before = context.files.usual_home()
        if folders.local(storage) and storage.url not in before.marked:
            after = replace(before, marked=(*before.marked, storage.url)[-MOST_MARKED:])
            context.files.write(context.layout.usual_home_file, after)


def _used(context: Context) -> Iterator[UsedHome]:
    lying: defaultdict[str, list[Savepoint]] = defaultdict(list)
    elsewhere = set(context.files.home_ids())
    for savepoint in savepoints.newest_first(context, ""):
        lying[savepoint.path.rpartition("/")[0] if savepoint.id in elsewhere else WORKSPACE].append(savepoint)
    for home in sorted(lying, key=lambda home: (home != WORKSPACE, home)):
        jobs = tuple(sorted({savepoint.job for savepoint in lying[home]}))
        yield UsedHome(home, len(lying[home]), sum(savepoint.bytes for savepoint in lying[home]), jobs)
