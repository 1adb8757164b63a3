"""Backups of a workspace: what one is made of, and which of the workspace's paths may be in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.domain.bounds import Count, Format, Moment
from pipelines.domain.ids import BackupId, JobName, SavepointId

BACKUP_FORMAT = 1
DOCUMENTS = ("schedule.json", "home.json", "alerts.json", "alert-states.json", "tokens.json", "audit.jsonl", "events.jsonl")
"""Files of the workspace itself. Its key, its server's address and its index are none of them."""
FOLDERS = ("audit", "experiments", "replays", "bisections", "homes", "versions", "large", "savepoints")
OF_A_JOB = ("job.json", "wanted.json", "runs", "checkpoints", "output", "warehouse")


@dataclass(frozen=True)
class BackedFile:
    """One file of a backup, by its path in the workspace."""

    path: str
    bytes: Count
    sha256: str
    modified_ms: Moment = 0
    """When it was last written, where its content is not known by anything else; with its size it says whether it has to be read again."""


@dataclass(frozen=True)
class Listing:
    """The files of a backup, itself one of its contents."""

    files: tuple[BackedFile, ...]


@dataclass(frozen=True)
class Backup:
    """A backup (`backups/<id>.json`, written last)."""

    format: Format
    id: BackupId
    workspace: str
    """Id of the workspace."""
    created_ms: Moment
    took_ms: Count
    jobs: tuple[JobName, ...]
    savepoints: tuple[SavepointId, ...]
    files: Count
    bytes: Count
    new_bytes: Count
    """Bytes that it added to the storage."""
    listing: str
    """SHA-256 of the list of its files, which is kept as any other content."""
    left: Mapping[str, str] = field(default_factory=dict)
    """What is not in it -> why: a job, whose present state is not (its savepoints are), or a damaged savepoint."""


@dataclass(frozen=True)
class ListedBackup(Backup):
    """A backup as a list has it."""

    damage: str = ""
    """Why its document cannot be read, of which then nothing else is known than its id; empty where it can."""


@dataclass(frozen=True)
class BackupPlan:
    """What a backup would copy. `new_bytes` is the most: what has to be read to be known counts as new."""

    url: str
    jobs: tuple[JobName, ...]
    savepoints: int
    files: int
    bytes: int
    new_files: int
    new_bytes: int
    left: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BackupCheckPlan:
    """What checking a backup would read: each content once, however many files have it."""

    url: str
    backup: BackupId
    created_ms: int
    files: int
    contents: int
    bytes: int


@dataclass(frozen=True)
class BackupRestorePlan:
    """What restoring a backup would read."""

    url: str
    backup: BackupId
    created_ms: int
    jobs: tuple[JobName, ...]
    savepoints: int
    files: int
    bytes: int
    left: Mapping[str, str] = field(default_factory=dict)


def belongs(path: str) -> bool:
    """Whether a backup may hold this path: nothing that leads outside of the workspace, or is made anew, or is of one machine alone."""
    parts = path.split("/")
    if "\\" in path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        return False
    if len(parts) == 1:
        return path in DOCUMENTS
    return parts[0] in FOLDERS or (parts[0] == "jobs" and _belongs_to_a_job(parts[1:]))


def _belongs_to_a_job(parts: Sequence[str]) -> bool:
    return len(parts) > 1 and parts[1] in OF_A_JOB and not parts[0].startswith(".")
