"""The lease that a run takes at its job's home: one for all its queries, before the first of them starts.

On one machine nobody waits for the period of a killed run's lease: that run's JVM has a record lock on a file of its run folder, and the
lease says which file that is. Who finds that very file beside its own run's folder asks the kernel.
"""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import Any

from pipelines.domain.errors import TidemarkError
from pipelines.domain.home_leases import (
    LOCK_FILE,
    LONGEST_S,
    PERIOD_S,
    PERIOD_VARIABLE,
    HomeLease,
    Machine,
    lease_folder,
    place_of_lease,
)
from pipelines.domain.hosts import BOOT_FILE
from pipelines.domain.job_places import is_hdfs
from pipelines.domain.numbered_leases import NumberedLease
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runs import Exit
from pipelines.driver.dead_mans_switch import DeadMansSwitch
from pipelines.driver.home_lease import HeldLease, unreachable
from pipelines.driver.jvm_locks import JvmLock
from pipelines.driver.lease_file import LeaseFile
from pipelines.driver.numbered_lease import HadoopFolder
from pipelines.driver.records import Records, say

SHORTEST_S = 1.0
KILLED_S = 30.0


class HomeLeases:
    """At most one: the run's."""

    def __init__(self, spec: RunSpec, records: Records) -> None:
        self._spec = spec
        self._records = records
        self._held: HeldLease | None = None
        self._is_without = False

    def take(self, query: str) -> None:
        """Takes the lease for the run that `query` is the first of; Conflict (`checkpoint.leased`), Unavailable (`checkpoint.no_lease`)."""
        if self._held is not None or self._is_without:
            return
        folder = lease_folder(self._spec.checkpoints)
        try:
            self._take(_file(folder), folder, query)
        except OSError as error:
            raise unreachable(folder, error) from error

    def close(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    def _take(self, file: LeaseFile | NumberedLease, folder: str, query: str) -> None:
        if not file.is_conditional:
            self._is_without = True
            message = (
                "This Hadoop, or a conf of the job's, knows no conditional writes: there is no lease, a second driver is not kept out."
            )
            self._records.event("checkpoint.unleased", message, query)
            return
        held = HeldLease(folder, file, DeadMansSwitch(), self._mine(), self._records.now_ms, self._is_gone, self._lost)
        held.take()
        self._held = held
        say(f"the lease in {folder} is this run's")
        if not held.conditions_hold():
            message = f"The store passes over the conditions of writes: the lease in {folder} may not keep a second driver out."
            self._records.event("checkpoint.unleased", message, query)

    def _mine(self) -> HomeLease:
        path = self._records.folder / LOCK_FILE
        JvmLock(path).attempt()
        now_ms, host = self._records.now_ms(), socket.gethostname()
        return HomeLease(self._spec.run, secrets.token_hex(8), host, machine_of(path) or NOWHERE, period_s(), now_ms, now_ms)

    def _is_gone(self, theirs: HomeLease) -> bool:
        """Whether the JVM that had it ended: known only of one of the same workspace, on this machine."""
        path = self._records.folder.parent / Path(theirs.run).name / LOCK_FILE
        machine = machine_of(path)
        if machine is None or machine != theirs.machine or path.parent == self._records.folder:
            return False
        lock = JvmLock(path)
        is_free = lock.attempt()
        lock.give_up()
        return is_free

    def _lost(self, error: TidemarkError) -> None:
        """Ends the JVM, so that nothing is committed any more, and then this process."""
        self._records.begin_exit()
        say(f"{error.code}: {error.message}")
        _kill_jvm()
        self._records.exit(Exit("failed", 1, error.code, f"{error.message} {error.hint}", self._records.now_ms()))
        os._exit(1)


def _file(folder: str) -> LeaseFile | NumberedLease:
    place = place_of_lease(folder)
    return NumberedLease(HadoopFolder(place), lambda: secrets.token_hex(8)) if is_hdfs(folder) else LeaseFile(place)


NOWHERE = Machine("", 0, 0)
"""Of a system whose boots have no names."""


def machine_of(lock: Path) -> Machine | None:
    """Where the file of a lock is; None where it is not, or where the boots of this system have no names."""
    try:
        status = lock.stat()
        return Machine(Path(BOOT_FILE).read_text().strip(), status.st_dev, status.st_ino)
    except FileNotFoundError:
        return None


def period_s() -> float:
    """How long a lease holds after its last renewal, as the environment says."""
    return min(max(float(os.environ.get(PERIOD_VARIABLE) or PERIOD_S), SHORTEST_S), LONGEST_S)


def _kill_jvm() -> None:
    """Without asking it: one that hangs would not answer. It may have ended by itself already."""
    from pyspark import SparkContext

    process: Any = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()
        process.wait(KILLED_S)
