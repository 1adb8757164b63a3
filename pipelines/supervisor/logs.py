"""Logs of drivers that run for months: of each the newest part stays, so that no job fills the disk."""

from __future__ import annotations

import os

from pipelines.domain.jobs import Run
from pipelines.domain.runs import LOG_FILE
from pipelines.storage import fronts
from pipelines.workspace import events
from pipelines.workspace.context import Context

EVERY_MS = 60_000
VARIABLE, KEPT_BYTES = "TIDEMARK_LOG_BYTES", 256 * 2**20
GROWS = "log.grows"


class Trimmer:
    """Looks at the log of each run once a minute."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept_bytes = int(os.environ.get(VARIABLE, KEPT_BYTES))
        """0 for all."""
        self._looked_ms: dict[str, int] = {}

    def trim(self, run: Run) -> None:
        now_ms = self._context.now_ms()
        if not self._kept_bytes or now_ms - self._looked_ms.get(run.id, 0) < EVERY_MS:
            return
        self._looked_ms[run.id] = now_ms
        path = self._context.layout.run(run.job, run.id) / LOG_FILE
        if path.is_file() and not fronts.free(path, self._kept_bytes) and not events.was_said_today(self._context, GROWS, run.id):
            message = f"the log of {run.job} is larger than {self._kept_bytes:,} bytes, and its disk cannot give back the front of a file"
            events.say(self._context, GROWS, run.job, run.id, message)

    def keep(self, live: set[str]) -> None:
        """Forgets all other runs."""
        for gone in self._looked_ms.keys() - live:
            del self._looked_ms[gone]
