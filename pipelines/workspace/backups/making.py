"""Makes a backup: every part of the workspace is kept by its content, each after what may name it.

The order is the correctness: (1) the workspace's documents, (2) of each job its documents and runs at one moment, its state as a savepoint
of now has it, its outputs, (3) versions, (4) savepoints, each held while it is copied, (5) the list of files, (6) a look whether all of it
is there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pipelines.domain.backups import BACKUP_FORMAT, BackedFile, Backup, BackupPlan, Listing
from pipelines.domain.errors import Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.homes import WORKSPACE
from pipelines.domain.ids import BackupId, JobName, OperationId, SavepointId
from pipelines.domain.json_text import read_json
from pipelines.savepoint import checksums, leases, library
from pipelines.savepoint.library import Shelf
from pipelines.storage import contents, documents, parallel
from pipelines.storage.addresses import open_storage
from pipelines.storage.contents import Contents
from pipelines.storage.protocol import Advance, Storage
from pipelines.verbs.take import Take
from pipelines.workspace import savepoints
from pipelines.workspace.backups import parts as backup_parts
from pipelines.workspace.backups.parts import Part, Reads
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Cancelled, Ticket

THREADS = 8
WITHOUT = (Conflict, NotFound, Corrupt, Unsupported)
"""Errors of a job's state, or of a savepoint, that do not keep the rest from being backed up."""
Known = Mapping[str, BackedFile]
"""Path -> the file as the newest backup has it."""


def plan(context: Context, url: str, kept: Contents, known: Known) -> BackupPlan:
    """What a backup would copy now; nothing is read but documents."""
    jobs, parts = jobs_of(context), list(backup_parts.of_workspace(context))
    left: dict[str, str] = {}
    new_files = new_bytes = state_files = state_bytes = 0
    for job in jobs:
        parts += [*backup_parts.of_job(context, job), *backup_parts.of_outputs(context, job, [])]
        try:
            take = savepoints.planned_take(context, job, Take(job, home=WORKSPACE)).plan
            state_files, state_bytes = state_files + take.files, state_bytes + take.bytes
        except WITHOUT as error:
            left[job] = error.message
    parts += backup_parts.of_versions(context)
    shelf = library.shelf(context.library)
    left |= _unreadable(shelf)
    listed = 0
    for savepoint in shelf.savepoints:
        try:
            parts += list(backup_parts.of_savepoint(context, savepoint.id, checksums.read(context.library, savepoint.id)))
            listed += 1
        except WITHOUT as error:
            left[savepoint.id] = error.message
    for part in parts:
        if not _is_kept(part, kept, known):
            new_files, new_bytes = new_files + 1, new_bytes + part.bytes
    files, size = len(parts) + state_files, sum(part.bytes for part in parts) + state_bytes
    return BackupPlan(url, tuple(jobs), listed, files, size, new_files + state_files, new_bytes + state_bytes, left)


def make(context: Context, storage: Storage, known: Known, ticket: Ticket) -> Backup:
    """The backup, all of whose contents are in `storage`; its document is for the caller to write."""
    began_ms = context.now_ms()
    making = _Making(context, Contents(storage), known, ticket)
    making.keep("documents", backup_parts.of_workspace(context))  # 1
    jobs = jobs_of(context)
    for job in jobs:
        making.keep_job(job)  # 2
    making.keep("versions", backup_parts.of_versions(context))  # 3
    shelf = library.shelf(context.library)
    taken = tuple(id for savepoint in shelf.savepoints if (id := making.keep_savepoint(savepoint.id)))  # 4
    making.left |= _unreadable(shelf)
    files = tuple(sorted(making.files, key=lambda file: file.path))
    data = documents.encode(Listing(files))
    listing = making.kept.keep_bytes(data)  # 5
    _refuse_incomplete(storage, [*files, BackedFile("the list of files", len(data), listing)])  # 6
    return Backup(
        BACKUP_FORMAT,
        BackupId(context.new_id("b")),
        str(read_json(context.layout.workspace_file.read_bytes()).get("id", "")),
        began_ms,
        max(0, context.now_ms() - began_ms),
        tuple(jobs),
        taken,
        len(files),
        sum(file.bytes for file in files),
        making.kept.new_bytes,
        listing,
        making.left,
    )


def jobs_of(context: Context) -> list[JobName]:
    """Jobs that a backup has: those that are listed, without forks that a replay or a bisection began for itself."""
    return [job for job in context.files.job_names() if not context.layout.what_if_file(job).exists()]


def _unreadable(shelf: Shelf) -> dict[str, str]:
    """Savepoints whose manifests cannot be read: no list has them -> why."""
    return {entry.id: entry.error.message for entry in shelf.unreadable}


def _is_kept(part: Part, kept: Contents, known: Known) -> bool:
    """Whether its content is there, as far as that is known without reading it."""
    if part.sha256:
        return kept.has(part.sha256, part.bytes)
    before = known.get(part.path)
    unchanged = before is not None and part.modified_ms and (before.bytes, before.modified_ms) == (part.bytes, part.modified_ms)
    return bool(unchanged) and before is not None and kept.has(before.sha256, before.bytes)


def _refuse_incomplete(storage: Storage, files: Iterable[BackedFile]) -> None:
    """Raises Unavailable where the storage has not kept what it was given."""
    there = contents.sizes(storage)
    for file in files:
        if there.get(file.sha256) != file.bytes:
            hint = "Check the storage that the backup goes to, then back up again."
            raise Unavailable("backup.incomplete", f"{file.path} did not arrive whole", hint)


@dataclass
class _Making:
    """A backup in the making."""

    context: Context
    kept: Contents
    known: Known
    ticket: Ticket
    files: list[BackedFile] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)

    def keep_job(self, job: JobName) -> None:
        """Its documents are of one moment: nobody changes them meanwhile."""
        with self.context.holding(job):
            if not self.context.files.has_begun(job):  # forgotten since it was listed
                return
            parts = [self._read(part) for part in backup_parts.of_job(self.context, job)]
        self.keep(job, parts)
        logs = self._keep_state(job)
        self.keep(f"outputs of {job}", backup_parts.of_outputs(self.context, job, logs))

    def _keep_state(self, job: JobName) -> list[str]:
        """Keeps an image of its checkpoints as a savepoint takes it, which is gone again afterwards; answers with the sink logs in it."""
        folder = self.context.layout.export_library(OperationId(self.context.new_id("x")))
        shelf = open_storage(str(folder))
        try:
            planned = savepoints.planned_take(self.context, job, Take(job), shelf=shelf)
            image = savepoints.take_into(self.context, shelf, planned, self.ticket)
            parts, logs = backup_parts.of_state(self.context, planned.source, library.manifest(shelf, image.id), folder)
            self.keep(f"state of {job}", parts)
        except Cancelled:
            raise
        except WITHOUT as error:
            self.left[job] = error.message
            return []
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # the next opening removes what stays
        return logs

    def keep_savepoint(self, savepoint: SavepointId) -> SavepointId | None:
        """Nobody disposes of it meanwhile; None for one that is gone or damaged."""
        try:
            with leases.lease(self.context.library, savepoint, "a backup", self.context.now_ms()):
                self.ticket.step(f"computing checksums of {savepoint}")
                seal = checksums.seal(self.context.library, savepoint, self.context.now_ms(), self.ticket.advance)
                self.keep(savepoint, backup_parts.of_savepoint(self.context, savepoint, seal))
        except Cancelled:
            raise
        except (Corrupt, Unsupported) as error:
            self.left[savepoint] = error.message
            return None
        except (Conflict, NotFound):  # disposed of since it was listed
            return None
        return savepoint

    def keep(self, what: str, parts: Iterable[Part]) -> None:
        """Keeps all of `parts`, or none of them is a file of the backup."""
        todo = list(parts)
        self.ticket.step(f"copying {what}", sum(part.bytes for part in todo))
        halt = parallel.Halt()
        advance = halt.watched(self.ticket.advance)
        kept = parallel.each(lambda part: self._keep(part, advance), todo, THREADS, halt, brief=True)
        self.files += [file for file in kept if file is not None]

    def _read(self, part: Part) -> Part:
        """A document with its content as of now."""
        if part.reads is not Reads.WHOLE or part.data is not None:
            return part
        return replace(part, data=backup_parts.root(self.context).read(part.source))

    def _there(self, part: Part) -> tuple[int, int]:
        """Where what is kept of it begins, and its bytes: the front of a file that grows may have been freed since it was listed."""
        if part.reads is not Reads.LINES:
            return 0, part.bytes
        return backup_parts.whole_lines(self.context, part.source, part.begin + part.bytes)

    def _keep(self, part: Part, advance: Advance) -> BackedFile | None:
        """The file as it is kept; None where it is gone, and nothing rests on it."""
        source = backup_parts.root(self.context)
        try:
            if part.reads is Reads.WHOLE:
                data = source.read(part.source) if part.data is None else part.data
                advance(part.bytes)
                return BackedFile(part.path, len(data), self.kept.keep_bytes(data), part.modified_ms)
            begin, size = self._there(part)
            sha256, is_output = part.sha256, part.reads is Reads.OUTPUT
            if is_output and _is_kept(part, self.kept, self.known):
                sha256 = self.known[part.path].sha256
            sha256, size = self.kept.keep(source, part.source, size, sha256, advance, begin=begin, may_be_shorter=is_output)
            return BackedFile(part.path, size, sha256, part.modified_ms)
        except NotFound:
            if part.reads is Reads.CONTENT:
                raise
            return None
