"""Logs and records of drivers that run for months: of each file the newest part stays, so that no job fills the disk."""

from __future__ import annotations

import os
from collections import defaultdict

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


class Trimmer:
    """Looks at the log and the records of each run once a minute, after what is new in them is in the catalog."""

    def __init__(self, context: Context) -> None:
        self._context = context
        record_bytes = int(os.environ.get(RECORD_VARIABLE, KEPT_RECORD_BYTES))
        self._kept_bytes = {LOG_FILE: int(os.environ.get(LOG_VARIABLE, KEPT_LOG_BYTES)), **dict.fromkeys(RECORDS, record_bytes)}
        """0 for all."""
        self._looked_ms: dict[str, int] = {}
        self._begins: defaultdict[str, freed.Begins] = defaultdict(dict)

    def trim(self, run: Run) -> None:
        now_ms = self._context.now_ms()
        if now_ms - self._looked_ms.get(run.id, 0) < EVERY_MS:
            return
        self._looked_ms[run.id] = now_ms
        for name, kept_bytes in self._kept_bytes.items():
            if kept_bytes:
                self._free(run, name, kept_bytes)
        freed.forget(self._context, run, self._begins[run.id])

    def _free(self, run: Run, name: str, kept_bytes: int) -> None:
        path = self._context.layout.run(run.job, run.id) / name
        if path.is_file() and not fronts.free(path, kept_bytes) and not events.was_said_today(self._context, GROWS, run.id):
            message = f"{name} of {run.job} is larger than {kept_bytes:,} bytes, and its disk cannot give back the front of a file"
            events.say(self._context, GROWS, run.job, run.id, message)

    def keep(self, live: set[str]) -> None:
        """Forgets all other runs."""
        for gone in self._looked_ms.keys() - live:
            del self._looked_ms[gone]
            self._begins.pop(gone, None)
