"""The process of a run's driver, as it is found again after the server that started it is gone."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.bounds import Moment, Pid, Took
from pipelines.domain.hosts import Host

PROCESS_FILE = "process.json"
"""In a run's folder."""
TERMINATED_FILE = "terminated.json"
"""In a run's folder. Written before SIGTERM is sent: a driver takes a second one as a kill, so a restarted supervisor must not send it
again."""


@dataclass(frozen=True)
class Process:
    """A process as the operating system knows it: a pid alone may be another's by now, pid and start time cannot."""

    pid: Pid
    started: Took
    """Seconds since the epoch, as psutil's `create_time` gives it."""
    home: str = ""
    """Folder of a warm process that became the driver; what it had started before is marked with it."""
    taken_ms: Moment | None = None
    """When it became the driver."""
    host: Host | None = None
    """Where it is; None where that was noted when a workspace was one machine's."""

    @property
    def began_ms(self) -> int:
        """When the run's driver began."""
        return round(self.started * 1000) if self.taken_ms is None else self.taken_ms
