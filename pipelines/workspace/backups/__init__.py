"""Backups of the workspace: planned, made while it runs, listed. A backup is there when its document is, which is written last: what a kill
leaves before is only contents, which the next backup goes on with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pipelines.domain.backups import BACKUP_FORMAT, BackedFile, Backup, BackupPlan, ListedBackup, Listing
from pipelines.domain.errors import Corrupt, Invalid, NotFound, Unsupported
from pipelines.domain.ids import BackupId
from pipelines.storage import disks, documents, folders
from pipelines.storage.addresses import is_whole, open_storage
from pipelines.storage.contents import Contents
from pipelines.storage.protocol import Storage
from pipelines.verbs.backups import CreateBackup, ListBackups
from pipelines.workspace import events
from pipelines.workspace.backups import making
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.tickets import Ticket

FOLDER = "backups"


@plans(CreateBackup)
def plan(context: Context, change: CreateBackup) -> Planned[str, BackupPlan]:
    """Raises Invalid (`backup.file`, `backup.inside`, `backup.relative`), and what the storage of the place refuses."""
    storage = _outside(context, change.url)
    shown = making.plan(context, storage.url, Contents(storage), _known(storage))

    def work(ticket: Ticket) -> str:
        with context.claiming(f"backup {storage.url}", ticket.check):
            backup = making.make(context, storage, _known(storage), ticket)
            storage.write(f"{FOLDER}/{backup.id}.json", documents.encode(backup))
        for name, why in backup.left.items():
            events.say(context, "backup.left", None, name, f"{name} is not in backup {backup.id} as it is now: {why}")
        message = f"backup {backup.id} of {len(backup.jobs)} jobs and {len(backup.savepoints)} savepoints is at {storage.url}"
        events.say(context, "backup.made", None, backup.id, message)
        return backup.id

    return Planned(shown, work)


@answers(ListBackups)
def listed(context: Context, question: ListBackups) -> Sequence[ListedBackup]:
    storage = at(question.url)
    every = [_listed(storage, path) for path in _documents(storage, "")]
    return sorted(every, key=lambda backup: (bool(backup.damage), backup.created_ms, backup.id), reverse=True)


def at(url: str) -> Storage:
    """The place of backups; raises Invalid (`backup.relative`) for a path that is not whole, and what its storage refuses."""
    if not is_whole(url):
        raise Invalid("backup.relative", f"{url!r} is no whole path", "Give a URL, or the whole path: /mnt/backup/tidemark.")
    return open_storage(url)


def newest_first(storage: Storage) -> list[Backup]:
    """The backups at a place. Raises Corrupt for a damaged document, Unsupported for a newer format."""
    return sorted(_read(storage, ""), key=lambda backup: (backup.created_ms, backup.id), reverse=True)


def chosen(storage: Storage, backup: str) -> Backup:
    """The backup of this id, whatever the documents of others are; the newest where that is empty. NotFound (`backup.not_found`) where
    there is none, Corrupt for a damaged document, which may be that of the newest."""
    try:
        document = next(iter(_read(storage, backup) if backup else newest_first(storage)), None)
    except Corrupt as error:
        if backup:
            raise
        hint = "'backups URL' lists those that can be read: name one with --backup, or remove that document."
        raise Corrupt(error.code, f"{error.message}. It may be the newest", hint) from error
    if document is None:
        what = f"backup {backup}" if backup else "backup"
        raise NotFound("backup.not_found", f"There is no {what} at {storage.url}", "'backups URL' lists them.")
    return document


def _read(storage: Storage, backup: str) -> list[Backup]:
    """The documents of all backups, or of the one of this id."""
    return [_document(storage, path) for path in _documents(storage, backup)]


def _documents(storage: Storage, backup: str) -> list[str]:
    return [entry.path for entry in storage.list(FOLDER) if entry.path.endswith(f"/{backup}.json" if backup else ".json")]


def _document(storage: Storage, path: str) -> Backup:
    return documents.decode(Backup, storage.read(path), path, BACKUP_FORMAT)


def _listed(storage: Storage, path: str) -> ListedBackup:
    """What a document says; of one that is damaged, or of a newer format, that."""
    try:
        return ListedBackup(**vars(_document(storage, path)))
    except (Corrupt, Unsupported) as error:
        id = BackupId(path.rpartition("/")[2].removesuffix(".json"))
        return ListedBackup(BACKUP_FORMAT, id, "", 0, 0, (), (), 0, 0, 0, "", damage=error.message)


def files_of(contents: Contents, backup: Backup) -> tuple[BackedFile, ...]:
    """The files of a backup; Corrupt (`backup.damaged`) where their list is gone, or is not what was written."""
    name = f"the list of files of backup {backup.id}"
    return documents.decode(Listing, contents.read(backup.listing, name), name).files


def _known(storage: Storage) -> dict[str, BackedFile]:
    """Path -> the file as the newest backup there has it; nothing where that one is damaged, which only means that more is read."""
    with suppress(Corrupt):
        return {file.path: file for backup in newest_first(storage)[:1] for file in files_of(Contents(storage), backup)}
    return {}


def _outside(context: Context, url: str) -> Storage:
    storage = at(url)
    if context.holds(storage.url):
        hint = "Choose a folder outside of it, best on another disk, or another storage."
        raise Invalid("backup.inside", f"{storage.url} is inside of the workspace {context.layout.root}", hint)
    file = disks.in_the_way(Path(storage.url)) if folders.local(storage) else None
    if file is not None:
        raise Invalid("backup.file", f"{file} is a file, and backups need a folder", "Name a folder; it need not be there.")
    return storage
