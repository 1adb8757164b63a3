"""`dispose`: savepoints are deleted."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.disposals import Disposal
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, argument


@dataclass(frozen=True)
class Dispose(Change[Disposal, Disposal]):
    """Delete savepoints. One that is refused (not found, needed by a fork in the making) says why and keeps no other; what they free is
    counted for the set."""

    savepoints: tuple[str, ...] = argument("Ids of savepoints, unique beginnings, or paths.", reads=Reads.SAVEPOINT, metavar="SAVEPOINT...")

    call, topic = "dispose_many", "savepoints"
    role = Role.OPERATOR
    http = Http("POST", "/savepoints/dispose")
    command, shell = "dispose", "Exits with the code of the first refusal."
