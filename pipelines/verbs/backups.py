"""Backups: the workspace is copied while it runs, and comes back into an empty one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.backups import BackupCheckPlan, BackupPlan, BackupRestorePlan, ListedBackup
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.operations import Operation
from pipelines.verbs.listing import ListedByTime
from pipelines.verbs.reads import Reads
from pipelines.verbs.rows import Rows
from pipelines.verbs.verb import Change, Http, Kind, Question, Works, argument, option

URL = "Path or URL of the folder that holds backups."
WHICH = "Id of the backup; the newest if not given."


@dataclass(frozen=True)
class CreateBackup(Change[Operation, BackupPlan]):
    """Back the workspace up while it runs. Of each job its present state is copied as a savepoint has it, with its savepoints, outputs,
    runs and versions; what a backup at the same place holds is not copied again. The id of the backup is the operation's result."""

    url: str = argument(URL, reads=Reads.PLACE)

    call, topic = "create_backup", "system"
    role = Role.ADMIN
    http = Http("POST", "/backups", 202)
    command, shell = "backup create", "Prints its id; what Ctrl-C breaks off is no backup, and the next one goes on with it."
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"backup": Kind("Backing up", "Backed up", about="the workspace", outcome="{done} the workspace as {result}")}
    prints = "{0.result}"

    def works_as(self, plan: BackupPlan) -> Works:
        return Works("backup", "", plan.url)


@dataclass(frozen=True)
class ListBackups(ListedByTime, Question[Sequence[ListedBackup]]):
    """List the backups at a place, newest first. One whose document cannot be read is named with the damage, before all others."""

    url: str = argument(URL, reads=Reads.PLACE)

    call, topic = "backups", "system"
    role = Role.ADMIN
    http = Http("GET", "/backups")
    command = "backups"
    refuses = (Unsupported, Unavailable)
    rows = Rows.of("id", "created_ms", "took_ms", "files", "bytes", "new_bytes")


@dataclass(frozen=True)
class CheckBackup(Change[Operation, BackupCheckPlan]):
    """Read a backup back: whether each of its files is there, with the SHA-256 that it was backed up with. Nothing is restored. Damage is
    an error that names the files. The id of the backup is the operation's result."""

    url: str = argument(URL, reads=Reads.PLACE)
    backup: str = option(WHICH, "")

    call, topic = "check_backup", "system"
    role = Role.ADMIN
    http = Http("POST", "/backups/check", 202)
    command, shell = "backup check", "Prints its id; exit code 7 is damage."
    refuses = (NotFound, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"check-backup": Kind("Checking", "Checked", checks=True, about="a backup", outcome="{done} backup {result}")}
    prints = "{0.result}"

    def works_as(self, plan: BackupCheckPlan) -> Works:
        return Works("check-backup", "", plan.url)


@dataclass(frozen=True)
class RestoreBackup(Change[Operation, BackupRestorePlan]):
    """Restore a backup into an empty workspace. Every file is compared with its checksum before anything is listed. No job runs
    afterwards: each one is resumed where its backup was taken, or forked. The id of the backup is the operation's result."""

    url: str = argument(URL, reads=Reads.PLACE)
    backup: str = option(WHICH, "")

    call, topic = "restore_backup", "system"
    role = Role.ADMIN
    http = Http("POST", "/backups/restore", 202)
    command, shell = "backup restore", "Prints its id; Ctrl-C cancels and removes what was copied."
    refuses = (NotFound, Conflict, Corrupt, Unsupported, Unavailable)
    follows = True
    kinds = {"restore-backup": Kind("Restoring", "Restored", makes=True, about="a backup", outcome="{done} backup {result}")}
    prints = "{0.result}"
    makes_workspace = True

    def works_as(self, plan: BackupRestorePlan) -> Works:
        return Works("restore-backup", "", plan.url)
