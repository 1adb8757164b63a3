"""Exports and imports: savepoints on their way out of the workspace and back, as operations.

Where an export writes to is noted in `exports/` first: the next opening removes what a dead one left there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Invalid, TidemarkError
from pipelines.domain.ids import JobName, OperationId, SavepointId
from pipelines.domain.savepoints import ExportPlan, Savepoint, TakePlan
from pipelines.savepoint import archive, exports, library, worker
from pipelines.savepoint.addresses import Address, address
from pipelines.savepoint.exports import Target
from pipelines.savepoint.worker import Found
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.export import Export
from pipelines.verbs.import_ import Import, ImportPlan
from pipelines.verbs.take import Take
from pipelines.workspace import events, large_files, progress, savepoints, versions
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.savepoints import PlannedTake
from pipelines.workspace.tickets import Ticket


@plans(Export)
def plan_export(context: Context, change: Export) -> Planned[str, ExportPlan]:
    """Copies a savepoint out; raises at once what can be said at once (AlreadyExists, Invalid, Corrupt), the rest fails the operation."""
    savepoint = savepoints.get(context, change.savepoint)
    to = exports.target(_outside(context, change.url), change.archive, context.new_id("x"))
    plan = exports.plan(context.shelf(savepoint.id), savepoint.id, to, change.then_dispose)

    def work(ticket: Ticket) -> str:
        _export(context, context.shelf(savepoint.id), savepoint.id, to, ticket, read_back=plan.disposes)
        events.say(context, "savepoint.exported", savepoint.job, savepoint.id, f"savepoint {savepoint.id} was exported to {to.url}")
        if plan.disposes:
            _dispose(context, savepoint, to)
        return to.url

    return Planned(plan, work)


@plans(Import)
def plan_import(context: Context, change: Import) -> Planned[str, ImportPlan]:
    """Brings a savepoint in; Invalid for what is no address. Everything else that can be wrong fails the operation."""
    at = address(change.url)

    def work(ticket: Ticket) -> str:
        ticket.step("reading the manifest")
        imported = worker.bring(
            context.savepoint_workers, at.url, context.library, context.now_ms(), ticket, lambda arrival: _claimed(context, ticket, arrival)
        )
        brought = library.load(context.shelf(imported), imported)
        large_files.adopt(context, library.manifest(context.shelf(imported), imported))
        savepoints.record(context, brought)
        message = f"savepoint {brought.id} of job {brought.job} was imported from {at.url}"
        events.say(context, "savepoint.imported", brought.job, brought.id, message)
        return brought.id

    return Planned(ImportPlan(at.url, at.name.endswith(archive.ENDINGS)), work)


def plan_take(context: Context, job: JobName, change: Take) -> Planned[Savepoint, TakePlan]:
    """A savepoint taken to `change.to`: taken here (the job's files may vanish during an upload), exported, removed here.

    It is `<to>/<id>`, a directory. The catalog does not know it; `import` brings it in. Answers when it is there and was read back.
    """
    home = open_storage(change.to).url.rstrip("/")
    _outside(context, f"{home}/any")
    folder = context.layout.export_library(OperationId(context.new_id("x")))
    planned = savepoints.planned_take(context, job, change, shelf=open_storage(str(folder)))
    plan = replace(planned.plan, new_bytes=planned.plan.bytes, to=home)
    return Planned(plan, lambda ticket: _take(context, folder, planned, home, ticket))


def clean(context: Context) -> None:
    """Removes the rest of interrupted exports, at the target and here. For an unreachable target it
    writes an event, and the next start tries again."""
    if not context.layout.exports.is_dir():
        return
    for path in sorted(context.layout.exports.iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix == ".json":
            _clean(context, path)


def _clean(context: Context, path: Path) -> None:
    try:
        exports.clean(context.files.read(Target, path))
    except Corrupt:
        path.unlink()
    except TidemarkError as error:
        message = f"what a broken export left could not be removed: {error.message}; the next start tries again"
        events.say(context, "export.left", None, path.stem, message)
    else:
        path.unlink()


def _outside(context: Context, url: str) -> Address:
    """`url` as an address; Invalid (`export.inside`) for one in this workspace, which only Tidemark writes to."""
    at = address(url)
    if context.holds(at.url):
        hint = "Choose a directory outside of it, or another storage."
        raise Invalid("export.inside", f"{at.url} is inside of the workspace {context.layout.root}", hint)
    return at


def _export(context: Context, shelf: Storage, savepoint: SavepointId, to: Target, ticket: Ticket, *, read_back: bool) -> None:
    note = context.layout.export_file(ticket.operation)
    context.layout.exports.mkdir(exist_ok=True)
    with context.claiming(to.url):
        context.files.write(note, to)
        progress.keep(context, shelf, library.manifest(shelf, savepoint))
        try:
            exports.export(shelf, savepoint, to, context.now_ms(), ticket, read_back=read_back)
        except BaseException as error:
            if not getattr(error, "__notes__", ()):  # else something is left, for the next start to remove
                note.unlink()
            raise
        note.unlink()


def _dispose(context: Context, savepoint: Savepoint, to: Target) -> None:
    try:
        savepoints.dispose(context, savepoint.id)
    except Conflict as error:
        raise Conflict(error.code, f"It was exported to {to.url}, and not disposed of here: {error.message}", error.hint) from error


def _take(context: Context, folder: Path, planned: PlannedTake, home: str, ticket: Ticket) -> Savepoint:
    shelf = open_storage(str(folder))
    try:
        ticket.step("taking")
        savepoint = savepoints.take_into(context, shelf, planned, ticket)
        to = exports.target(address(f"{home}/{savepoint.id}"), False, ticket.operation)
        _export(context, shelf, savepoint.id, to, ticket, read_back=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the next opening removes what stays
    events.say(context, "savepoint.exported", savepoint.job, savepoint.id, f"savepoint {savepoint.id} was taken to {to.url}")
    return replace(savepoint, path=to.url, new_bytes=savepoint.bytes)


@contextmanager
def _claimed(context: Context, ticket: Ticket, exported: Found) -> Iterator[None]:
    """Holds the savepoint's id during its import, stores its version, and shows its job on the operation."""
    ticket.job = exported.job
    home = context.files.home(exported.savepoint)
    if home is not None:
        message = f"Savepoint {exported.savepoint} is in the workspace already, and lies at {home.url}"
        raise AlreadyExists("savepoint.exists", message, "Fork it from there, or dispose of it first.")
    with context.claiming(exported.savepoint):
        versions.keep(context, exported.version)
        yield
