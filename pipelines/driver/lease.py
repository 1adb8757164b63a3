"""Leases: two drivers never work on one checkpoint, nor two on one run.

What writes a checkpoint is the JVM, so the JVM holds the lease: a record lock of the operating system on `.leases/<query>.lock` beside
the checkpoint. The kernel takes it away when that process is gone and not before: no lease is ever stale, and a JVM that outlives its
killed driver for a while keeps what it may still write to. `.leases/<query>.json` only says who holds it, for people.

One in S3 or HDFS has a lease there (`driver.home_lease`). One at any other URL has none, and the driver says so in an event.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from pipelines.domain.errors import Conflict
from pipelines.domain.homes import unmarked
from pipelines.domain.ids import folder_of
from pipelines.domain.moments import in_utc
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runs import LEASES, RUN_LOCK
from pipelines.driver.home_leases import HomeLeases
from pipelines.driver.jvm_locks import JvmLock, jvm_pid
from pipelines.driver.records import Records, say
from pipelines.hadoop.paths import Place

PATIENCE_VARIABLE = "TIDEMARK_LEASE_PATIENCE_S"
PATIENCE_S = 10.0
"""How long a taken lease is waited for: a killed driver's JVM needs a few seconds to end."""
POLL_S = 0.1


@dataclass(frozen=True)
class Holder:
    """Who holds a lease (`.leases/<query>.json`)."""

    run: str
    pid: int
    """The driver's process."""
    spark_pid: int
    """The JVM's, which has the lock."""
    host: str
    since_ms: int


class Leases:
    """The leases of this driver. Local ones are kept until its JVM ends: a query that starts again in it has its lease already."""

    def __init__(self, spec: RunSpec, records: Records) -> None:
        self._spec = spec
        self._records = records
        self._held: set[Path] = set()
        self._at_home = HomeLeases(spec, records)

    def take(self, query: str, folder: Place | None) -> None:
        """Makes the checkpoint of `query` in `folder` (None: where no suite ran) this driver's; Conflict (`checkpoint.leased`). A rehearsal
        at a home has a copy that nobody else knows: the job's lease there is not its to take."""
        if folder is None:
            self._records.event("checkpoint.unleased", "A checkpoint at this URL has no lease: a second driver is not kept out.", query)
        elif isinstance(folder, Path):
            self._take_local(query, folder)
        elif not self._spec.rehearsal:
            self._at_home.take(query)

    def close(self) -> None:
        """Gives the lease at a home back, once nothing of this driver writes there any more."""
        self._at_home.close()

    def _take_local(self, query: str, folder: Path) -> None:
        refuse_away(self._spec)
        lock = folder / LEASES / f"{folder_of(query)}.lock"
        if lock in self._held:
            return
        lock.parent.mkdir(parents=True, exist_ok=True)
        _lock(lock, query, patience_s())
        _write(lock.with_suffix(".json"), Holder(self._spec.run, os.getpid(), jvm_pid(), socket.gethostname(), self._records.now_ms()))
        self._held.add(lock)


def refuse_away(spec: RunSpec) -> None:
    """Raises Unavailable (`home.away`) where the disk of the job's checkpoints is not mounted: Spark would begin anew below it."""
    if spec.mark and not os.path.isfile(spec.mark):
        raise unmarked(spec.mark)


def patience_s() -> float:
    return float(os.environ.get(PATIENCE_VARIABLE, PATIENCE_S))


def hold_run(folder: Path) -> None:
    """Makes the run in `folder` this process's until it ends; Conflict (`run.leased`) where another driver executes it."""
    descriptor = os.open(folder / RUN_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        message = f"The run in {folder} is being executed by another driver ({error.strerror})."
        raise Conflict("run.leased", message, "Leave it to that driver; to run the job once more, fork it.") from error


def _lock(path: Path, query: str, wait_s: float) -> None:
    """Locks `path` for this driver's JVM, for as long as that lives."""
    lock, deadline = JvmLock(path), time.monotonic() + wait_s
    if lock.attempt():
        return
    say(f"query {query}: another process has its checkpoint; waiting for it to end")
    while time.monotonic() < deadline:
        time.sleep(POLL_S)
        if lock.attempt():
            return
    lock.give_up()
    raise leased(query, path)


def leased(query: str, lock: Path) -> Conflict:
    holder = _holder(lock.with_suffix(".json"))
    place = lock.parent.parent / lock.stem
    if holder is None:
        return Conflict("checkpoint.leased", f"Another process works on query {query}'s checkpoint {place}.", "Find and end it first.")
    where = f"process {holder.pid} on {holder.host}, since {in_utc(holder.since_ms)}"
    hint = f"Stop that run first. If its driver is gone, its Spark still runs: end process {holder.spark_pid}, and the lease is free."
    return Conflict("checkpoint.leased", f"Query {query}'s checkpoint {place} is in use by run {holder.run} ({where}).", hint)


def _holder(path: Path) -> Holder | None:
    """The holder of the lease; None where it had no time to write its name."""
    try:
        return Holder(**json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _write(path: Path, holder: Holder) -> None:
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_text(json.dumps(asdict(holder)))
    aside.replace(path)
