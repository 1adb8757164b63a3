"""What a workspace and its server stand on: runtimes, storage, the server itself."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.connectors import Connector
from pipelines.domain.pushes import Push
from pipelines.domain.resources import Means


@dataclass(frozen=True)
class Runtime:
    """A Python that jobs run on; what is empty was not found."""

    python: str
    """The interpreter's path."""
    python_version: str
    spark_version: str
    java: str
    """Its JAVA_HOME."""
    java_version: str
    java_packaged: bool
    """Whether that Java came with the Python packages, not with the system."""
    versions: int
    """Versions of jobs that run on it."""
    connectors: tuple[Connector, ...] = ()
    """What its Spark needs for other systems."""
    problem: str = ""
    """Why no job can run on it; empty where nothing is known to be in the way."""
    hint: str = ""
    """What to install or to name then."""
    java_named: bool = False
    """Whether jobs name this Java (`--java-home`)."""


@dataclass(frozen=True)
class Disk:
    """The file system that holds the workspace; hard links and reflinks are tried, not guessed."""

    file_system: str
    total_bytes: int
    free_bytes: int
    hard_links: bool
    reflinks: bool


@dataclass(frozen=True)
class Storage:
    """The workspace on disk. Savepoints' bytes are exact: each file once, however many names it has."""

    workspace: str
    workspace_id: str
    workspace_format: int
    catalog_format: int
    catalog_bytes: int
    rows: Mapping[str, int]
    """Rows of the catalog by table."""
    savepoints: int
    savepoint_bytes: int
    disk: Disk
    s3: Mapping[str, bool]
    """Settings of S3 in the server's environment: which are there. Never what they say."""


class ServerRole(enum.StrEnum):
    """Which of the servers of one workspace it is."""

    ACTIVE = "active"
    """It has the workspace: it looks after the jobs, and takes changes."""
    STANDBY = "standby"
    """It answers questions, and takes the workspace over when the active one ends."""


@dataclass(frozen=True)
class Server:
    """The process that answers; `url` is empty for a command that opened the workspace itself."""

    url: str
    loopback_only: bool
    version: str
    commit: str
    """Of the source it runs from; empty where that is no git checkout."""
    pid: int
    driver_logs: str
    """Where drivers' logs are, below the workspace."""
    encryption: str = ""
    """What encrypts what others send, where they reach it: `its own certificate`, or `the proxy at …`."""
    role: ServerRole = ServerRole.ACTIVE
    provider: str = ""
    """What people sign in with, by its host; empty where tokens alone let in."""
    code_runs_as: str = ""
    """The user of the machine whose rights the code of jobs has."""
    code_apart: bool = False
    """Whether that is another user than the server's (`--run-as`)."""
    holds: Means = Means.SUPERVISOR
    """What holds drivers to the memory and processors that their jobs may take."""


@dataclass(frozen=True)
class WarmProcess:
    """A Spark process that is kept for the next verdict, reading or proof."""

    pid: int
    python: str
    """Its interpreter; empty for the server's own."""
    memory_bytes: int
    """With its JVM."""
    is_warm: bool
    """False while it is warmed up."""
    work: str
    """The module that it runs; empty while it waits."""


@dataclass(frozen=True)
class About:
    """All of the page of settings."""

    runtimes: tuple[Runtime, ...]
    """The server's own first."""
    default_master: str
    storage: Storage
    server: Server
    warm: tuple[WarmProcess, ...] = ()
    warm_bytes: int = 0
    """What they take now, together."""
    warm_most_bytes: int = 0
    """How much memory they may take; 0 where none is kept."""
    pushes: tuple[Push, ...] = ()
    """Where the server pushes its metrics to."""
