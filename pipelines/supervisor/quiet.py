"""Runs about which nothing is to be done: of hundreds, a pass looks closely at those alone of which a file changed or a process ended."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.ids import RunId
from pipelines.domain.jobs import Run
from pipelines.domain.processes import PROCESS_FILE, TERMINATED_FILE, Process
from pipelines.domain.resources import HELD_FILE
from pipelines.domain.runs import EXIT_FILE, RunState
from pipelines.supervisor import processes
from pipelines.workspace.context import Context

Mark = tuple[tuple[int, int, int] | None, ...]
"""Inode, time and size of each file that decides about a run; None for one that is not there."""


@dataclass(frozen=True)
class Known:
    """A run that was as it should be when its files were so."""

    mark: Mark
    process: Process


class Quiet:
    """Remembers runs that run, and that nobody wants anything else of."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[RunId, Known] = {}

    def is_so(self, run: Run) -> bool:
        """Whether nothing has changed about a run of which nothing was to be done. Its process is asked for anew each time."""
        known = self._known.get(run.id)
        return known is not None and run.state is RunState.RUNNING and known.mark == self.mark(run) and processes.alive(known.process)

    def mark(self, run: Run) -> Mark:
        folder = self._context.layout.run(run.job, run.id)
        names = (PROCESS_FILE, EXIT_FILE, TERMINATED_FILE, HELD_FILE)
        files = (self._context.layout.wanted_file(run.job), *(folder / name for name in names))
        return tuple(map(_seen, files))

    def note(self, run: Run, mark: Mark) -> None:
        """Remembers a run that was just looked at, where `mark`, taken before, says that it is as it should be. What a driver with limits
        takes is looked at in each pass."""
        files = self._context.files
        wanted, process = files.wanted(run.job), files.process(run.job, run.id)
        is_settled = run.state is RunState.RUNNING and wanted.run == run.id and wanted.stop is None and set(mark[2:]) == {None}
        if is_settled and process is not None and process.pid == run.pid:
            self._known[run.id] = Known(mark, process)
        else:
            self._known.pop(run.id, None)

    def forget(self, run: RunId) -> None:
        """Has the next pass look closely at a run."""
        self._known.pop(run, None)

    def keep(self, live: set[RunId]) -> None:
        """Forgets all other runs."""
        for gone in self._known.keys() - live:
            del self._known[gone]


def _seen(path: Path) -> tuple[int, int, int] | None:
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_size
