"""Leases of jobs at a home, as the server meets them: while another workspace's driver works there, nothing begins and nothing is removed.

What the job's own runs left is no obstacle: the workspace knows whether they run. Of any other a lease that was not given back is watched,
by this machine's clock, for as long as it holds after a renewal.
"""

from __future__ import annotations

import time
from pathlib import Path

from pipelines.domain.errors import Conflict, NotFound, Unavailable
from pipelines.domain.home_leases import (
    LEASE_FILE,
    LEASE_FOLDER,
    LEASED,
    LOCK_FILE,
    HomeLease,
    LeaseSeen,
    Machine,
    lease_seen,
    leased,
    parsed,
    patience_s,
    watched,
)
from pipelines.domain.homes import is_folder
from pipelines.domain.hosts import BOOT_FILE
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.job_places import CHECKPOINTS, is_hdfs
from pipelines.domain.numbered_leases import READ_TRIES, newest
from pipelines.domain.runs import LEASES
from pipelines.storage import hosts, paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.jobs import ShowLease
from pipelines.workspace import job_places, runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers
from pipelines.workspace.tickets import Ticket

LOOKS, LOOK_S = 10, 1.0
"""While a lease is watched, and the longest time between two of them."""
ENDING_S = 10.0
"""How long the Spark of a driver that was killed may take to end."""


def told(context: Context, job: JobName) -> tuple[str, ...]:
    """What a plan says of the lease that another workspace's driver has, or had, at the job's home; nothing where there is none.

    Raises Unavailable (`home.away`) for a home on a disk that is not mounted."""
    job_places.refuse_away(context, job)
    place = _leased_place(context, job)
    seen = _read(open_storage(place)) if place else None
    lease = parsed(seen) if seen else None
    return () if seen is None or _is_free(context, job, lease) else (watched(place, lease),)


@answers(ShowLease)
def seen(context: Context, question: ShowLease) -> LeaseSeen | None:
    place = _leased_place(context, runs.known(context, question.job))
    content = _read(open_storage(place)) if place else None
    lease = parsed(content) if content else None
    return None if content is None else lease_seen(place, lease, lease is not None and _is_own(context, JobName(question.job), lease))


def refuse_foreign(context: Context, job: JobName, ticket: Ticket) -> None:
    """Raises Conflict (`checkpoint.leased`) once another workspace's driver is seen to renew the job's lease; returns where none does."""
    place = job_places.of_job(context, job)
    if is_folder(place):
        job_places.refuse_away(context, job)
        _refuse_locked(place, ticket)
        return
    storage = open_storage(place) if place else None
    seen = _read(storage) if storage else None
    lease = parsed(seen) if seen else None
    if storage is None or seen is None or _is_free(context, job, lease):
        return
    wait_s = patience_s(lease)
    ticket.step(f"watching for {wait_s:g} s whether another driver works at the job's home", 0)
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        time.sleep(min(wait_s / LOOKS, LOOK_S))
        ticket.check()
        now = _read(storage)
        if now != seen:
            _refuse_held(place, now)
            return


def _refuse_locked(place: str, ticket: Ticket) -> None:
    """On a disk of this machine, or one that hosts share, the kernel knows who has a checkpoint."""
    deadline = time.monotonic() + ENDING_S
    while locked := next(filter(hosts.is_locked, Path(place, CHECKPOINTS).glob(f"*/{LEASES}/*.lock")), None):
        if time.monotonic() >= deadline:
            hint = f"Stop that run where it was started: {locked.with_suffix('.json')} names it."
            raise Conflict(LEASED, f"Another process works on the checkpoints in {place}: it has {locked.name}", hint)
        ticket.step("waiting for the process that works on the job's checkpoints", 0)
        time.sleep(LOOK_S)
        ticket.check()


def _refuse_held(place: str, now: bytes | None) -> None:
    lease = parsed(now) if now else None
    if now is not None and not (lease is not None and lease.released):
        raise leased(place, lease)


def _leased_place(context: Context, job: JobName) -> str:
    """The job's folder in a storage where a lease is a file; empty for one on a disk, where the kernel keeps it."""
    place = job_places.of_job(context, job)
    return "" if is_folder(place) else place


def _is_free(context: Context, job: JobName, lease: HomeLease | None) -> bool:
    return lease is not None and (lease.released or _is_own(context, job, lease))


def _is_own(context: Context, job: JobName, lease: HomeLease) -> bool:
    """Whether it is of a run of this very workspace, and not of a copy of it."""
    lock = context.layout.run(job, RunId(Path(lease.run).name)) / LOCK_FILE
    try:
        status = lock.stat()
        return Machine(Path(BOOT_FILE).read_text().strip(), status.st_dev, status.st_ino) == lease.machine
    except FileNotFoundError:
        return False


def _read(storage: Storage) -> bytes | None:
    """The lease in the job's folder; None where there is none."""
    return _newest(storage) if is_hdfs(storage.url) else _content(storage, LEASE_FILE)


def _newest(storage: Storage) -> bytes | None:
    """One that a newer one replaced meanwhile is read again."""
    for _ in range(READ_TRIES):
        number = newest(paths.name(entry.path) for entry in storage.list(LEASE_FOLDER))
        content = _content(storage, paths.join(LEASE_FOLDER, str(number))) if number else None
        if content is not None or number == 0:
            return content
    raise Unavailable("storage.busy", f"The lease in {storage.url} changed each time that it was read", "Try again.")


def _content(storage: Storage, path: str) -> bytes | None:
    try:
        return storage.read(path)
    except NotFound:
        return None
