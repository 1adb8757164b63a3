"""Logs and records of drivers that run for months, and the events of the workspace: of each file the newest part stays, so that nothing
fills the disk."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.runs import EVENTS_FILE, IDLE_FILE, LOG_FILE, PROGRESS_FILE
from pipelines.storage import fronts
from pipelines.workspace import events, freed
from pipelines.workspace.context import Context
from pipelines.workspace.ingestion import SIZES_FILE

EVERY_MS = 60_000
LOG_VARIABLE, KEPT_LOG_BYTES = "TIDEMARK_LOG_BYTES", 256 * 2**20
RECORD_VARIABLE, KEPT_RECORD_BYTES = "TIDEMARK_RECORD_BYTES", 2**30
RECORDS = (PROGRESS_FILE, IDLE_FILE, EVENTS_FILE, SIZES_FILE)
"""Not the queries that started: savepoints are taken by them, and they grow only by what is new."""
GROWS = "file.grows"


OF_WORKSPACE = ""
"""In the place of a run."""


class Trimmer:
    """Looks at the log and the records of each run, and at the events of the workspace, once a minute, after what is new in them is in the
    catalog."""

    def __init__(self, context: Context) -> None:
        self._context = context
        record_bytes = int(os.environ.get(RECORD_VARIABLE, KEPT_RECORD_BYTES))
        self._kept_bytes = {LOG_FILE: int(os.environ.get(LOG_VARIABLE, KEPT_LOG_BYTES)), **dict.fromkeys(RECORDS, record_bytes)}
        """0 for all."""
        self._looked_ms: dict[str, int] = {}
        self._begins: defaultdict[str, freed.Begins] = defaultdict(dict)

    def trim(self, run: Run) -> None:
        if self._is_due(run.id):
            for name, kept_bytes in self._kept_bytes.items():
                self._free(self._context.layout.run(run.job, run.id) / name, kept_bytes, run.job, run.id)
            freed.forget(self._context, run, self._begins[run.id])

    def trim_events(self) -> None:
        """Those of the workspace."""
        if self._is_due(OF_WORKSPACE):
            path = self._context.layout.events_file
            self._free(path, self._kept_bytes[EVENTS_FILE], None, path.name)
            freed.forget_events(self._context, self._begins[OF_WORKSPACE])

    def _is_due(self, of: str) -> bool:
        now_ms = self._context.now_ms()
        if now_ms - self._looked_ms.get(of, 0) < EVERY_MS:
            return False
        self._looked_ms[of] = now_ms
        return True

    def _free(self, path: Path, kept_bytes: int, job: JobName | None, subject: str) -> None:
        if not kept_bytes or not path.is_file() or fronts.free(path, kept_bytes):
            return
        if not events.was_said_today(self._context, GROWS, subject):
            what = f"{path.name} of {job or 'the workspace'}"
            message = f"{what} is larger than {kept_bytes:,} bytes, and its disk cannot give back the front of a file"
            events.say(self._context, GROWS, job, subject, message)

    def keep(self, live: set[str]) -> None:
        """Forgets all other runs."""
        for gone in self._looked_ms.keys() - live - {OF_WORKSPACE}:
            del self._looked_ms[gone]
            self._begins.pop(gone, None)
