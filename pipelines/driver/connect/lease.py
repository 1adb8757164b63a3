"""The lease of a checkpoint that a Connect server writes: this driver holds it, as a JVM beside it would.

A killed driver lets go of it while the server still goes on; the next run ends that session before it takes the lease (`session.enter`).
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from dataclasses import asdict
from pathlib import Path

from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import folder_of
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runs import LEASES
from pipelines.driver.lease import POLL_S, Holder, leased, patience_s
from pipelines.driver.records import Records, replace_whole

TAKEN = (BlockingIOError, PermissionError)
"""What a record lock of another process raises (EAGAIN, EACCES)."""


class ClientLeases:
    """The leases of this driver, each a record lock that lasts as long as this process."""

    def __init__(self, spec: RunSpec, records: Records) -> None:
        self._spec = spec
        self._records = records
        self._held: dict[Path, int] = {}

    def take(self, query: str, folder: Path) -> None:
        """As `Leases.take`: the same file, and record locks of Java's and of Python's are one kind."""
        lock = folder / LEASES / f"{folder_of(query)}.lock"
        if lock in self._held:
            return
        lock.parent.mkdir(parents=True, exist_ok=True)
        self._held[lock] = _locked(lock, query)
        holder = Holder(self._spec.run, os.getpid(), os.getpid(), socket.gethostname(), self._records.now_ms())
        replace_whole(lock.with_suffix(".json"), json.dumps(asdict(holder)))


def _locked(path: Path, query: str) -> int:
    """A descriptor of the locked file; Conflict (`checkpoint.leased`) where another process keeps it."""
    descriptor, deadline = os.open(path, os.O_RDWR | os.O_CREAT, 0o600), time.monotonic() + patience_s()
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except TAKEN as error:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise leased(query, path) from error
        except OSError as error:
            hint = "Put the workspace on a disk whose file system has locks (a local one, or NFS with its lock service)."
            raise Unavailable("checkpoint.no_locks", f"{path} cannot be locked: {error.strerror}", hint) from error
        time.sleep(POLL_S)
