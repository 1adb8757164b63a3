"""`export`: a savepoint leaves the workspace."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.operations import Operation
from pipelines.domain.savepoints import ExportPlan
from pipelines.verbs.fork import SAVEPOINT
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, Kind, Works, argument, named, option


@dataclass(frozen=True)
class Export(Change[Operation, ExportPlan]):
    """Copy a savepoint out of the workspace. It becomes a directory or one `.tar.zst` file, at a path or URL, which is the operation's
    result."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)
    url: str = argument("Path or URL of the copy; one that ends in .tar.zst becomes one file.", reads=Reads.PLACE)
    archive: bool | None = option(
        "One .tar.zst file, or a directory; by the ending of URL if not given.", None, flag="--archive/--directory"
    )
    then_dispose: bool = option("Dispose of it here once the copy was read back and found intact.", False)

    call, topic = "export", "savepoints"
    role = Role.OPERATOR
    http = Http("POST", "/savepoints/{savepoint}/export", 202)
    command, shell = "export", "Prints where it is; Ctrl-C cancels and removes what was copied."
    refuses = (NotFound, AlreadyExists, Conflict, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"export": Kind("Exporting", "Exported", makes=True, outcome="{done} {about} to {result}")}
    prints = "{0.result}"

    def works_as(self, plan: ExportPlan) -> Works:
        return Works("export", plan.job, plan.savepoint)
