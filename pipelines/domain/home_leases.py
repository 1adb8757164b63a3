"""Leases at a home: what one driver writes beside its checkpoints in S3 or HDFS, so that no other works on them. Pure.

Clocks of two machines need not agree. A driver that renews its lease changes the file; whoever wants it watches for one period, by a clock
of its own, whether the file changes. So the times in it are for people alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pipelines.domain.bounds import LATEST_MS, Moment
from pipelines.domain.errors import Conflict
from pipelines.domain.job_places import is_hdfs, place_of
from pipelines.domain.json_text import read_json
from pipelines.domain.moments import in_utc

LEASE_FILE = "lease.json"
"""In the job's folder in S3."""
LEASE_FOLDER = "leases"
"""In the job's folder in HDFS: a file for each renewal, named by a number. The highest counts; lower ones are removed."""
LEASE_FORMAT = 1
LOCK_FILE = ".lease.lock"
"""In the run's folder: locked by the JVM that has the lease, for as long as that lives."""
PERIOD_VARIABLE = "TIDEMARK_LEASE_S"
PERIOD_S = 60.0
LONGEST_S = 3_600.0
FIRED = 0.95
"""Of the period since the last renewal began: its Spark ends by itself, if the driver did not end it (at `renewals.GIVEN_UP`)."""
LEASED, LOST, NO_LEASE = "checkpoint.leased", "checkpoint.lease_lost", "checkpoint.no_lease"


@dataclass(frozen=True)
class Machine:
    """Where the lock of a holder is: who finds that very file at the same boot of the same machine can ask the kernel for it."""

    boot: str
    device: int
    inode: int


@dataclass(frozen=True)
class HomeLease:
    """The content of a lease."""

    run: str
    holder: str
    """Of one driver, unlike any other."""
    host: str
    machine: Machine
    period_s: float
    """Without a renewal for so long it gives way."""
    since_ms: int
    renewed_ms: int
    renewals: int = 0
    """Makes each content unlike the one before."""
    released: bool = False
    """Whether its driver has ended in order."""

    @property
    def text(self) -> str:
        return json.dumps({"format": LEASE_FORMAT, **asdict(self)}, indent=1) + "\n"

    @property
    def until_ms(self) -> int:
        """By the holder's clock."""
        return self.renewed_ms + int(self.period_s * 1000)

    def renewed(self, now_ms: int, released: bool = False) -> HomeLease:
        return replace(self, renewed_ms=now_ms, renewals=self.renewals + 1, released=released)


@dataclass(frozen=True)
class LeaseSeen:
    """The lease at a job's home as it was read: every time in it is by the clock of its holder."""

    place: str
    """The file or the folder that it is in."""
    run: str = ""
    """Empty where the lease could not be understood."""
    host: str = ""
    is_own: bool = False
    """Whether the run is of this workspace, on this machine."""
    released: bool = False
    since_ms: Moment | None = None
    renewed_ms: Moment | None = None
    until_ms: Moment | None = None
    """When it gives way, unless it is renewed before."""


def lease_seen(folder: str, lease: HomeLease | None, is_own: bool) -> LeaseSeen:
    """What people are shown of the lease in `folder`; None is one that could not be understood."""
    place = place_of_lease(folder)
    if lease is None:
        return LeaseSeen(place)
    times = (_moment(ms) for ms in (lease.since_ms, lease.renewed_ms, lease.until_ms))
    return LeaseSeen(place, lease.run, lease.host, is_own, lease.released, *times)


def _moment(ms: int) -> int | None:
    """None for a time that no calendar has."""
    return ms if 0 <= ms <= LATEST_MS else None


def lease_folder(checkpoints: str) -> str:
    """Where the lease for these checkpoints lies: a job's, also on those that it had before, or will have; else beside them."""
    return place_of(checkpoints) or checkpoints.rstrip("/")


def place_of_lease(folder: str) -> str:
    """What is to be looked at, or deleted, where `folder` is said to be in use."""
    return f"{folder}/{LEASE_FOLDER if is_hdfs(folder) else LEASE_FILE}"


def parsed(text: str | bytes) -> HomeLease | None:
    """The lease that `text` describes; None where it describes none, which then is nobody's that could be named."""
    try:
        return _lease(read_json(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _lease(raw: Mapping[str, Any]) -> HomeLease:
    machine = raw["machine"]
    return HomeLease(
        run=str(raw["run"]),
        holder=str(raw["holder"]),
        host=str(raw["host"]),
        machine=Machine(str(machine["boot"]), int(machine["device"]), int(machine["inode"])),
        period_s=min(max(float(raw["period_s"]), 0.0), LONGEST_S),
        since_ms=int(raw["since_ms"]),
        renewed_ms=int(raw["renewed_ms"]),
        renewals=int(raw["renewals"]),
        released=raw["released"] is True,
    )


def patience_s(lease: HomeLease | None) -> float:
    """How long one that is not renewed is watched before it gives way."""
    return lease.period_s if lease is not None else PERIOD_S


def leased(folder: str, lease: HomeLease | None) -> Conflict:
    """What a second driver, and a server that would begin one, is told."""
    if lease is None:
        hint = f"Look at {place_of_lease(folder)}, and delete it if no driver works there."
        return Conflict(LEASED, f"Another driver works on the checkpoints in {folder}; its lease cannot be read.", hint)
    message = (
        f"The checkpoints in {folder} are in use by run {lease.run} (on {lease.host}, since {in_utc(lease.since_ms)}), "
        f"whose lease holds until {in_utc(lease.until_ms)} by its clock, and is being renewed."
    )
    hint = f"Stop that run where it was started. Once it is gone, its lease gives way {lease.period_s:g} s after the last renewal."
    return Conflict(LEASED, message, hint)


def watched(folder: str, lease: HomeLease | None) -> str:
    """What a plan says of the lease of somebody else."""
    whose = "of a driver whose name cannot be read" if lease is None else f"of run {lease.run} on {lease.host}"
    until = "" if lease is None else f", by whose clock it holds until {in_utc(lease.until_ms)}"
    return (
        f"The lease in {folder} is that {whose}{until}. Before anything begins it is watched for {patience_s(lease):g} s: "
        "if it is renewed, nothing does; if not, it gives way."
    )


def lost(folder: str, why: str) -> Conflict:
    hint = "See whether another server runs this job, and whether the storage answers; then resume it on one of them."
    return Conflict(LOST, f"The lease in {folder} {why}: the run was ended, so that it commits nothing more.", hint)
