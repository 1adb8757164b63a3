"""Which process stands for a run's driver: one that another host's server has put another in the place of leaves."""

from __future__ import annotations

import os
from pathlib import Path

from pipelines.domain.processes import PROCESS_FILE, Process
from pipelines.storage import documents, hosts


class Superseded(Exception):
    """Another process stands for the driver now."""


class Charge:
    """Who stands for the run's driver, as `process.json` names it: it may still name the one before when this process begins."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / PROCESS_FILE
        self._before = self._named()

    def check(self) -> None:
        """Raises Superseded once it names another than this process, and than before."""
        named = self._named()
        if named in (None, self._before) or (named.pid == os.getpid() and named.host == hosts.here()):
            return
        raise Superseded

    def _named(self) -> Process | None:
        readable = os.access(self._file, os.R_OK)
        return documents.decode(Process, self._file.read_bytes(), PROCESS_FILE) if readable else None
