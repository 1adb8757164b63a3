"""Homes: places outside of the workspace where savepoints lie, beside the state that they are of."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import JobName

WORKSPACE = "workspace"
"""Said instead of a URL: in the workspace itself."""
USUAL = "usual"
"""Said instead of a URL: where the workspace's other jobs have theirs."""
AWAY = "home.away"
"""The code of every error that says of a home that it is not there now."""
MARK = ".tidemark-home"
"""A file in each home that is a folder of this machine: one without it is a disk that is not mounted."""


TRIED = frozenset({"s3", "s3a", "hdfs", "webhdfs", "swebhdfs", "file", "local"})
"""Schemes of addresses at whose storages the suites ran."""


def is_untried(home: str) -> bool:
    """Whether no suite ran at such a place."""
    scheme, is_address, _ = home.partition("://")
    return bool(is_address) and scheme not in TRIED


def is_folder(home: str) -> bool:
    """Whether `home`, a whole path or a URL, is a folder of this machine, as a disk is that is mounted."""
    return bool(home) and "://" not in home


def mark_of(home: str) -> str:
    """The file that says that a home of this machine is there; empty for another storage, which says so by itself, and for none."""
    return str(PurePath(home) / MARK) if is_folder(home) else ""


def unmarked(mark: str) -> Unavailable:
    """The error of a home whose mark is not there: what lies there may be on a disk that is not mounted, and must not begin anew."""
    hint = f"Mount its disk. If that is mounted, somebody removed the file: make an empty one, {mark}."
    return Unavailable(AWAY, f"{PurePath(mark).parent} is not there, or not mounted: it has no {MARK}", hint)


@dataclass(frozen=True)
class Home:
    """Where a savepoint of the workspace lies that is not in it (`homes/<savepoint>.json`)."""

    url: str
    """The folder at that storage that holds the savepoint's own folder."""
    job: JobName
    """The job that it is of, known here while that storage is away."""
    settled: bool
    """Whether it was published; not while it is being taken or disposed of, which the next opening completes after a crash."""


@dataclass(frozen=True)
class HomeSettings:
    """Where new savepoints are kept of every job that does not say otherwise, and where new jobs begin (`home.json`)."""

    home: str = ""
    """Of savepoints; empty for the workspace."""
    jobs: str = ""
    """Of the checkpoints and outputs of jobs that begin from now on, and of their savepoints; empty for the workspace."""
    marked: tuple[str, ...] = ()
    """Folders of this machine that were ever set as a home, and have a mark since: without it one is away."""


@dataclass(frozen=True)
class UsedHome:
    """A place that savepoints of this workspace lie at."""

    home: str
    """`workspace`, or the URL."""
    savepoints: int
    bytes: int
    """Of their files, as their manifests have them."""
    jobs: tuple[JobName, ...]
    """By name."""


@dataclass(frozen=True)
class Homes:
    """Where savepoints lie, and where the next ones will."""

    usual: str
    """`workspace`, or a URL: of every job that is not in `of_jobs`."""
    of_new_jobs: str
    """`workspace`, or a URL: where the checkpoint and the output of a job lie that begins without a home of its own."""
    of_jobs: Mapping[JobName, str]
    """Jobs with a home of their own: `workspace`, or a URL."""
    used: tuple[UsedHome, ...]
    """The workspace first."""


class Step(enum.StrEnum):
    """What a savepoint asks of the storage that it is kept at."""

    WRITE = "write"
    READ = "read"
    LIST = "list"
    COPY = "copy"
    DELETE = "delete"


@dataclass(frozen=True)
class TriedStep:
    """One of them, as it went."""

    step: Step
    took_ms: float
    failed: str = ""
    """Why not; empty where it works."""
    how: str = ""
    """Of a copy within the storage: `server-copy`, `link`, `reflink` or `copy`."""


@dataclass(frozen=True)
class HomeCheck:
    """What was tried at a home, in order; after the first that fails nothing else was."""

    home: str
    steps: tuple[TriedStep, ...]

    @property
    def failed(self) -> TriedStep | None:
        """The step that did not work; None where savepoints can be kept there."""
        return next((step for step in self.steps if step.failed), None)
