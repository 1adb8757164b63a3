"""`import`: an exported savepoint comes into the workspace."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.operations import Operation
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, Kind, Works, argument


@dataclass(frozen=True)
class ImportPlan:
    """What an import will read."""

    url: str
    archive: bool
    """Whether it is one `.tar.zst` file."""


@dataclass(frozen=True)
class Import(Change[Operation, ImportPlan]):
    """Bring an exported savepoint into the workspace. It is a directory or one `.tar.zst` file, and keeps its id, which is the operation's
    result."""

    url: str = argument("Path or URL of an exported savepoint.", reads=Reads.PLACE)

    call, topic = "import_savepoint", "savepoints"
    role = Role.OPERATOR
    http = Http("POST", "/savepoints/import", 202)
    command, shell = "import", "Prints its id; Ctrl-C cancels and removes what was copied."
    refuses = (NotFound, AlreadyExists, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"import": Kind("Importing", "Imported", makes=True, outcome="{done} {result}")}
    prints = "{0.result}"
    makes_workspace = True

    def works_as(self, plan: ImportPlan) -> Works:
        return Works("import", "", plan.url)
