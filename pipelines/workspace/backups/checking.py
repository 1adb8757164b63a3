"""Checks a backup: reads each of its contents where it lies, and compares it with its SHA-256."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.backups import BackedFile, BackupCheckPlan, belongs
from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import BackupId
from pipelines.storage import parallel
from pipelines.storage.contents import Contents, place
from pipelines.verbs.backups import CheckBackup
from pipelines.workspace import backups, events
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.tickets import Ticket

THREADS = 8
NAMED = 10
"""So many damaged files are named."""
FOREIGN = "is no path of a backup"
HINT = (
    "Delete the damaged contents that are named, then back up again: what the workspace still has is copied anew. "
    "Or restore another backup."
)


@dataclass(frozen=True)
class _Content:
    """A content, with the files that have it."""

    sha256: str
    bytes: int
    paths: tuple[str, ...]


@plans(CheckBackup)
def plan(context: Context, change: CheckBackup) -> Planned[str, BackupCheckPlan]:
    """Raises NotFound (`backup.not_found`), Corrupt (`backup.damaged`) where its list of files is damaged."""
    storage = backups.at(change.url)
    backup, kept = backups.chosen(storage, change.backup), Contents(storage)
    files = backups.files_of(kept, backup)
    contents = _contents(files)
    total = sum(content.bytes for content in contents)

    def work(ticket: Ticket) -> str:
        damages = [f"{file.path!r} {FOREIGN}" for file in files if not belongs(file.path)] + _damages(kept, contents, total, ticket)
        if damages:
            error = _damaged(backup.id, storage.url, damages)
            events.say(context, "backup.damaged", None, backup.id, error.message)
            raise error
        events.say(context, "backup.checked", None, backup.id, f"backup {backup.id} of {storage.url} is as it was made")
        return backup.id

    return Planned(BackupCheckPlan(storage.url, backup.id, backup.created_ms, len(files), len(contents), total), work)


def _contents(files: Sequence[BackedFile]) -> list[_Content]:
    by_content: dict[tuple[str, int], list[str]] = {}
    for file in files:
        by_content.setdefault((file.sha256, file.bytes), []).append(file.path)
    return [_Content(sha256, size, tuple(paths)) for (sha256, size), paths in by_content.items()]


def _damages(kept: Contents, contents: Sequence[_Content], total: int, ticket: Ticket) -> list[str]:
    """What is wrong with each damaged file, in the order of the files."""
    ticket.step("reading", total)
    halt = parallel.Halt()
    advance = halt.watched(ticket.advance)
    wrong = parallel.each(lambda content: kept.wrong(content.sha256, content.bytes, advance), contents, THREADS, halt, brief=True)
    damaged = [(content, why) for content, why in zip(contents, wrong, strict=True) if why]
    return [f"{path} {why} ({place(content.sha256)})" for content, why in damaged for path in content.paths]


def _damaged(backup: BackupId, url: str, damages: Sequence[str]) -> Corrupt:
    more = len(damages) - NAMED
    listed = "; ".join(damages[:NAMED]) + (f"; and {more:,} more" if more > 0 else "")
    return Corrupt("backup.damaged", f"Backup {backup} of {url} is damaged: {listed}", HINT)
