"""Spark's event log of a run: where it is written, how large it may become, which application it is of. Pure.

A rolling log is a folder `eventlog_v2_<application>` with `events_<n>_<application>.<codec>` (`RollingEventLogFilesWriter`) and an empty
`appstatus_<application>.inprogress`, renamed at the end. A file `events_<n>_….compact` stands for all up to number n.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FOLDER = "events"
"""In a run's folder."""
ENABLED, DIRECTORY = "spark.eventLog.enabled", "spark.eventLog.dir"
MOST = "spark.tidemark.eventLog.maxBytes"
MOST_BYTES = 100_000_000
"""Of one run, on disk, unless a conf says otherwise; Spark writes a tenth to a twentieth of what it has to say."""
RUNS_KEPT = 10
"""So many of a job's runs keep theirs, the newest."""
ROLLING = {
    "spark.eventLog.rolling.enabled": "true",
    "spark.eventLog.rolling.maxFileSize": "10m",
    "spark.eventLog.compress": "true",
    "spark.eventLog.compression.codec": "zstd",
}
"""The size is the smallest that Spark allows."""
OF_ROLLING = "eventlog_v2_"
COMPACT = ".compact"
_EVENTS = re.compile(r"events_(\d+)_(.+)")


def is_on(value: str) -> bool:
    """Whether the conf `ENABLED` says that an event log is kept."""
    return value.strip().lower() == "true"


def is_directed(conf: Mapping[str, str]) -> bool:
    """Whether a version asks for an event log and leaves its place to us."""
    return is_on(conf.get(ENABLED, "")) and DIRECTORY not in conf


def directed(conf: Mapping[str, str], url: str) -> dict[str, str]:
    """The confs of a run with its event log in the folder `url`; what they say of it stays."""
    return {**ROLLING, **conf, DIRECTORY: url} if is_directed(conf) else dict(conf)


def without(conf: Mapping[str, str]) -> dict[str, str]:
    """The confs of a Spark that only reads or tries something: its event log would be in nobody's folder."""
    return {key: value for key, value in conf.items() if key != ENABLED} if is_directed(conf) else dict(conf)


def most_bytes(conf: Mapping[str, str]) -> int:
    """How large the event log of a run may become."""
    limit = conf.get(MOST, "").strip()
    return int(limit) if limit.isdigit() else MOST_BYTES


def application(folder: str) -> str:
    """The application whose rolling event log a folder is; empty for any other."""
    return folder.removeprefix(OF_ROLLING) if folder.startswith(OF_ROLLING) else ""


@dataclass(frozen=True)
class Part:
    """A file of a rolling event log."""

    name: str
    bytes: int

    @property
    def number(self) -> int:
        match = _EVENTS.fullmatch(self.name)
        return int(match[1]) if match else 0

    def standing_for(self, number: int) -> str:
        """The name under which it stands for all up to `number`."""
        match = _EVENTS.fullmatch(self.name)
        assert match is not None
        return f"events_{number}_{match[2].removesuffix(COMPACT)}{COMPACT}"


@dataclass(frozen=True)
class Cut:
    """What makes a log smaller: its first file, which says what the application is, stands for those that go."""

    first: str
    becomes: str
    goes: tuple[str, ...]


def parts(files: Iterable[tuple[str, int]]) -> list[Part]:
    """The files with events among (name, bytes), in order; of one number the one that stands for others comes first."""
    events = [Part(name, size) for name, size in files if _EVENTS.fullmatch(name)]
    compact = max((part.number for part in events if part.name.endswith(COMPACT)), default=0)
    kept = [part for part in events if part.number > compact or (part.number == compact and part.name.endswith(COMPACT))]
    return sorted(kept, key=lambda part: part.number)


def cut(log: Sequence[Part], most: int) -> Cut | None:
    """What to do where the log has more than `most` bytes; None where it has not, or nothing can go: Spark writes the last file."""
    excess = sum(part.bytes for part in log) - most
    if excess <= 0 or len(log) < 3:
        return None
    goes: list[Part] = []
    for part in log[1:-1]:
        if excess <= 0:
            break
        goes.append(part)
        excess -= part.bytes
    return Cut(log[0].name, log[0].standing_for(goes[-1].number), tuple(part.name for part in goes))
