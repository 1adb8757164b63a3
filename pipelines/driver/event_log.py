"""Spark's event log of the run: its folder, and its bound. Once it has more bytes than it may, files from its middle go."""

from __future__ import annotations

from pathlib import Path

from pipelines.domain import event_logs
from pipelines.domain.run_specs import RunSpec
from pipelines.driver.records import Records

LOOKS = 30
"""It is measured each so many times that somebody looks."""


class EventLog:
    """The event log in the folder of one run, where it has one there."""

    def __init__(self, spec: RunSpec, records: Records) -> None:
        self._folder = records.folder / event_logs.FOLDER
        self._is_ours = spec.conf.get(event_logs.DIRECTORY) == self._folder.as_uri()
        self._most = event_logs.most_bytes(spec.conf)
        self._records = records
        self._looks = 0
        self._has_cut = False

    def prepare(self) -> None:
        """Spark does not make the folder by itself."""
        if self._is_ours:
            self._folder.mkdir(mode=0o700, exist_ok=True)

    def look(self) -> None:
        """Measures it now and then."""
        self._looks += 1
        if self._is_ours and self._looks % LOOKS == 0:
            self.bound()

    def bound(self) -> None:
        """Cuts each application's log that has become too large: first one file stands for the others, then those go."""
        for log in self._folder.glob(f"{event_logs.OF_ROLLING}*"):
            cut = event_logs.cut(event_logs.parts(_files(log)), self._most)
            if cut is not None:
                (log / cut.first).rename(log / cut.becomes)
                for name in cut.goes:
                    (log / name).unlink()
                self._tell()

    def _tell(self) -> None:
        if not self._has_cut:
            self._has_cut = True
            message = (
                f"The event log has more than {self._most:,} bytes: its beginning and its end stay ({event_logs.MOST} sets the bound)."
            )
            self._records.event("event_log.cut", message)


def _files(log: Path) -> list[tuple[str, int]]:
    return [(path.name, path.stat().st_size) for path in log.iterdir()]
