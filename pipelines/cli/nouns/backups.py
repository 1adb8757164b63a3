"""Backups of the workspace on the shell."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.cli import output
from pipelines.cli.additions import group, plans, shows
from pipelines.cli.session import Here
from pipelines.domain.backups import BackupCheckPlan, BackupPlan, BackupRestorePlan, ListedBackup
from pipelines.domain.operations import Operation
from pipelines.verbs.backups import CheckBackup, CreateBackup, ListBackups, RestoreBackup
from pipelines.words import backups as words

group("backup", "Backups of the workspace.")


@plans(CreateBackup)
def _planned(here: Here, change: CreateBackup, plan: BackupPlan) -> str:
    return output.details(words.plan(plan))


@plans(CheckBackup)
def _check_planned(here: Here, change: CheckBackup, plan: BackupCheckPlan) -> str:
    return output.details(words.check(plan, here.session.now_ms))


@plans(RestoreBackup)
def _restore_planned(here: Here, change: RestoreBackup, plan: BackupRestorePlan) -> str:
    return output.details(words.restore(plan, here.session.now_ms))


@shows(RestoreBackup)
def _restored(here: Here, change: RestoreBackup, done: Operation) -> None:
    output.tell(words.STILL)


@shows(ListBackups)
def _listed(here: Here, question: ListBackups, backups: Sequence[ListedBackup]) -> str | output.Table:
    rows = [words.row(backup, here.session.now_ms) for backup in backups]
    return output.Table(("BACKUP", "MADE", "JOBS", "SAVEPOINTS", "FILES", "NEW"), rows) if rows else ""
