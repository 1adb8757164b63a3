"""Restores a backup into an empty workspace: copied aside, compared with its checksums, then moved to its places. A kill before that leaves
what the next opening removes; a kill in between what it completes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pipelines.domain.backups import BackedFile, Backup, BackupRestorePlan, belongs
from pipelines.domain.errors import Conflict
from pipelines.storage import contents, parallel, rights
from pipelines.storage.addresses import open_storage
from pipelines.storage.contents import Contents
from pipelines.storage.layout import OUTPUT, WAREHOUSE
from pipelines.storage.protocol import Storage
from pipelines.storage.rollback import rollback
from pipelines.verbs.backups import RestoreBackup
from pipelines.workspace import backups, events, rebuild, trash
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.tickets import Ticket

THREADS = 8
CLAIM = "restore of a backup"
COPYING, WHOLE = "copying", "whole"


@plans(RestoreBackup)
def plan(context: Context, change: RestoreBackup) -> Planned[str, BackupRestorePlan]:
    """Raises NotFound (`backup.not_found`), Conflict (`backup.not_empty`), Corrupt (`backup.damaged`) for a half or damaged one."""
    storage = backups.at(change.url)
    backup = backups.chosen(storage, change.backup)
    refuse_not_empty(context)
    files = _whole(storage, backup)
    shown = BackupRestorePlan(
        storage.url, backup.id, backup.created_ms, backup.jobs, len(backup.savepoints), backup.files, backup.bytes, backup.left
    )

    def work(ticket: Ticket) -> str:
        with context.claiming(CLAIM, ticket.check):
            refuse_not_empty(context)
            _copy(context, storage, files, ticket)
            finish(context)
            rebuild.rebuild(context, rebuild.read_all(context))
        events.say(context, "backup.restored", None, backup.id, f"backup {backup.id} of {storage.url} was restored")
        context.changed.set()
        return backup.id

    return Planned(shown, work)


def finish(context: Context) -> bool:
    """Moves what was copied whole to its places, jobs at the end; what was not is removed. Whether anything was moved.

    Of the workspace itself the audit goes on from the backup's; what it had before is in the trash.
    """
    whole = context.layout.restores / WHOLE
    if not whole.is_dir():
        shutil.rmtree(context.layout.restores, ignore_errors=True)
        return False
    if (whole / context.layout.audit_file.name).exists():
        trash.put(context, context.layout.audit_file)
        trash.put(context, context.layout.sealed_audit)
    for path in sorted(whole.iterdir(), key=lambda path: path.name == context.layout.jobs.name):
        _move(path, context.layout.root / path.name)
    for job in context.files.job_names():
        _open_outputs(context.layout.job(job))
    shutil.rmtree(context.layout.restores)
    return True


def refuse_not_empty(context: Context) -> None:
    """Raises Conflict (`backup.not_empty`) for a workspace that has anything."""
    layout, files = context.layout, context.files
    there = [
        *(f"job {path.name}" for path in _there(layout.jobs)),
        *(f"savepoint {path.name}" for path in _there(layout.savepoints)),
        *(f"version {version}" for version in files.version_ids()),
        *(f"savepoint {savepoint}" for savepoint in files.home_ids()),
        *(f"experiment {experiment}" for experiment in files.experiment_ids()),
    ]
    if there:
        message = f"The workspace {layout.root} is not empty: it has {there[0]}" + (f" and {len(there) - 1} more" if there[1:] else "")
        raise Conflict("backup.not_empty", message, "Name another folder: --workspace DIR, which need not exist.")


def _there(folder: Path) -> list[Path]:
    """What a folder has; nothing where it is not made yet, as in a plan."""
    return sorted(folder.iterdir()) if folder.exists() else []


def _whole(storage: Storage, backup: Backup) -> Sequence[BackedFile]:
    """The files of the backup; Corrupt (`backup.damaged`) for one that is missing, has another size, or is none that a backup has."""
    files = backups.files_of(Contents(storage), backup)
    there = contents.sizes(storage)
    for file in files:
        if not belongs(file.path):
            raise contents.damaged(repr(file.path), "is no path of a backup")
        if there.get(file.sha256) != file.bytes:
            raise contents.damaged(file.path, "is missing" if file.sha256 not in there else "has another size")
    return files


def _copy(context: Context, storage: Storage, files: Sequence[BackedFile], ticket: Ticket) -> None:
    folder, kept = context.layout.restores / COPYING, Contents(storage)
    target = open_storage(str(folder))
    shutil.rmtree(context.layout.restores, ignore_errors=True)
    folder.mkdir(parents=True)
    with rollback(lambda: shutil.rmtree(context.layout.restores), str(folder)):
        ticket.step("copying", sum(file.bytes for file in files))
        halt = parallel.Halt()
        advance = halt.watched(ticket.advance)
        parallel.each(lambda file: kept.fetch(file.sha256, file.bytes, target, file.path, advance), files, THREADS, halt, brief=True)
        ticket.check()
        refuse_not_empty(context)  # what was begun meanwhile would stay, and what the backup has under its name be lost
        folder.rename(context.layout.restores / WHOLE)


def _move(path: Path, target: Path) -> None:
    """A file in the place of what is there; of a folder each thing in it, where it is not there yet."""
    if path.is_file():
        os.replace(path, target)
        return
    target.mkdir(exist_ok=True)
    for inner in path.iterdir():
        if not (target / inner.name).exists():
            inner.rename(target / inner.name)


def _open_outputs(job: Path) -> None:
    """Others may read a job's outputs as far as the user's umask lets them."""
    job.chmod(rights.PASSAGE)
    for name in (OUTPUT, WAREHOUSE):
        if (job / name).is_dir():
            rights.share(job / name)
