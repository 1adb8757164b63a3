"""How the supervisor starts and ends runs in cluster mode: by the process that stands for their driver here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain import masters
from pipelines.domain.bounds import Moment
from pipelines.domain.run_specs import SPEC_FILE, RunSpec
from pipelines.domain.runs import EXIT_FILE
from pipelines.domain.versions import Version
from pipelines.sandbox import environment
from pipelines.storage import documents
from pipelines.storage.addresses import open_storage

THIS_PYTHON = "-"
"""Stands for the Python of the server."""
ENDED_FILE = "end-application.json"
"""Asks for the end of a run's application, whatever it does."""
HANGS_MS = 120_000
MODULE = "pipelines.supervisor.afar"


@dataclass(frozen=True)
class EndAsked:
    """When somebody asked for the end of the application."""

    at_ms: Moment


def command(version: Version) -> Sequence[str]:
    """Starts it, with the run's folder as its last argument."""
    return [*environment.command("", MODULE), version.python or THIS_PYTHON]


def is_of(version: Version) -> bool:
    return masters.is_afar(version.master, version.conf)


def end(folder: Path, now_ms: int) -> bool:
    """Asks for the end of the run's application, whatever it does, which the process that stands for it sees to. Whether that was asked
    for so long ago that this process hangs: the next one is told by the file."""
    asked = folder / ENDED_FILE
    if not asked.exists():
        write(folder, ENDED_FILE, EndAsked(now_ms))
        return False
    return now_ms - documents.decode(EndAsked, asked.read_bytes(), ENDED_FILE).at_ms >= HANGS_MS


def write(folder: Path, name: str, value: object) -> None:
    """A document of the run's folder, whole or not at all."""
    open_storage(str(folder)).write(name, documents.encode(value))


def goes_on(folder: Path) -> bool:
    """Whether the run's driver may go on at the cluster although no process stands for it here: its end is not known."""
    if (folder / EXIT_FILE).exists() or not (folder / SPEC_FILE).is_file():
        return False
    spec = documents.decode(RunSpec, (folder / SPEC_FILE).read_bytes(), SPEC_FILE)
    return masters.is_afar(spec.master, spec.conf)
