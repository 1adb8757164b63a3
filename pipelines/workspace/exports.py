"""Exports and imports: savepoints on their way out of the workspace and back, as operations.

Where an export writes to is noted in `exports/` first: the next opening removes what a dead one left there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pipelines.domain.errors import Conflict, Corrupt, Invalid, TidemarkError
from pipelines.domain.ids import JobName, OperationId, SavepointId
from pipelines.domain.operations import Operation
from pipelines.domain.requests import ExportRequest, ImportRequest, TakeRequest
from pipelines.domain.savepoints import ExportPlan, Reason, Savepoint, TakePlan
from pipelines.domain.versions import version
from pipelines.savepoint import exporting, importing, library
from pipelines.savepoint.addresses import Address, address
from pipelines.savepoint.archive import Head
from pipelines.savepoint.exporting import Target
from pipelines.storage.opening import open_storage
from pipelines.storage.protocol import Storage
from pipelines.workspace import events, operations, progress, runs, savepoints, versions
from pipelines.workspace.context import Context
from pipelines.workspace.operations import Ticket


def export(context: Context, named: str, request: ExportRequest) -> Operation | ExportPlan:
    """Copies a savepoint out; raises at once what can be said at once (AlreadyExists, Invalid, Corrupt), the rest fails the operation."""
    savepoint = savepoints.get(context, named)
    wanted = operations.cancellable(context, "export", savepoint.job, savepoint.id)
    to = exporting.target(_outside(context, request.url), request.archive, wanted.id)
    plan = exporting.plan(context.library, savepoint.id, to, request.then_dispose)
    if request.dry_run:
        return plan

    def work(ticket: Ticket) -> str:
        _export(context, context.library, savepoint.id, to, wanted.id, ticket, read_back=request.then_dispose)
        events.say(context, "savepoint.exported", savepoint.job, savepoint.id, f"savepoint {savepoint.id} was exported to {to.url}")
        if request.then_dispose:
            _dispose(context, savepoint.id, to)
        return to.url

    return operations.begin(context, wanted, work)


def import_savepoint(context: Context, request: ImportRequest) -> Operation:
    """Brings a savepoint in; Invalid for what is no address. Everything else that can be wrong fails the operation."""
    at = address(request.url)

    def work(ticket: Ticket) -> str:
        ticket.step("reading the manifest")
        brought = importing.bring(at.url, context.library, context.now_ms(), ticket, claim=lambda head: _claimed(context, ticket, head))
        savepoints.record(context, brought)
        said = f"savepoint {brought.id} of job {brought.job} was imported from {at.url}"
        events.say(context, "savepoint.imported", brought.job, brought.id, said)
        return brought.id

    return operations.begin(context, operations.cancellable(context, "import", JobName(""), at.url), work)


def take_to(context: Context, job: str, request: TakeRequest) -> Savepoint | TakePlan:
    """A savepoint taken to `request.to`: taken here (the job's files may vanish during an upload), exported, removed here.

    It is `<to>/<id>`, a directory. The catalog does not know it; `import` brings it in. Answers when it is there and was read back.
    """
    name = runs.known(context, job)
    home = open_storage(request.to).url.rstrip("/")
    _outside(context, f"{home}/any")
    wanted = operations.cancellable(context, "export", name, home)
    shelf = open_storage(str(context.layout.export_library(wanted.id)))
    if request.dry_run:
        plan = savepoints.plan(context, shelf, name, request)
        return replace(plan, new_bytes=plan.bytes)
    return operations.answered(
        context,
        wanted,
        lambda ticket: _take(context, shelf, name, request, home, wanted.id, ticket),
        lambda taken: taken.path,
    )


def clean(context: Context) -> None:
    """What dead exports left, there and here. One whose target is away now is left to the next start, with an event that says so."""
    if not context.layout.exports.is_dir():
        return
    for path in sorted(context.layout.exports.iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix == ".json":
            _clean(context, path)


def _clean(context: Context, path: Path) -> None:
    try:
        exporting.clean(context.files.read(Target, path))
    except Corrupt:
        path.unlink()
    except TidemarkError as error:
        said = f"what a broken export left could not be removed: {error.message}; the next start tries again"
        events.say(context, "export.left", None, path.stem, said)
    else:
        path.unlink()


def _outside(context: Context, url: str) -> Address:
    """`url` as an address; Invalid (`export.inside`) for one in this workspace, which only Tidemark writes to."""
    at = address(url)
    if "://" not in at.url and Path(at.url).resolve().is_relative_to(context.layout.root):
        hint = "Choose a directory outside of it, or another storage."
        raise Invalid("export.inside", f"{at.url} is inside of the workspace {context.layout.root}", hint)
    return at


def _export(
    context: Context, shelf: Storage, savepoint: SavepointId, to: Target, operation: OperationId, ticket: Ticket, *, read_back: bool
) -> None:
    note = context.layout.export_file(operation)
    context.layout.exports.mkdir(exist_ok=True)
    with context.claiming(to.url):
        context.files.write(note, to)
        progress.keep(context, shelf, library.manifest(shelf, savepoint))
        try:
            exporting.export(shelf, savepoint, to, context.now_ms(), ticket, read_back=read_back)
        except BaseException as error:
            if not getattr(error, "__notes__", ()):  # else something is left, for the next start to remove
                note.unlink()
            raise
        note.unlink()


def _dispose(context: Context, savepoint: SavepointId, to: Target) -> None:
    try:
        savepoints.dispose(context, savepoint, dry_run=False)
    except Conflict as error:
        raise Conflict(error.code, f"It was exported to {to.url}, and not disposed of here: {error.message}", error.hint) from error


def _take(
    context: Context, shelf: Storage, job: JobName, request: TakeRequest, home: str, operation: OperationId, ticket: Ticket
) -> Savepoint:
    try:
        ticket.step("taking")
        taken = savepoints.take_into(context, shelf, job, request, Reason.MANUAL, ticket)
        to = exporting.target(address(f"{home}/{taken.id}"), False, operation)
        _export(context, shelf, taken.id, to, operation, ticket, read_back=True)
    finally:
        shutil.rmtree(context.layout.export_library(operation), ignore_errors=True)  # the next opening removes what stays
    events.say(context, "savepoint.exported", job, taken.id, f"savepoint {taken.id} was taken to {to.url}")
    return replace(taken, path=to.url, new_bytes=taken.bytes)


@contextmanager
def _claimed(context: Context, ticket: Ticket, head: Head) -> Iterator[None]:
    """One import of a savepoint at a time; its version is known here from then on. The operation shows the job that it is of."""
    ticket.job = head.manifest.job
    _refuse_false(head)
    with context.claiming(head.manifest.id):
        versions.keep(context, head.manifest.version)
        yield


def _refuse_false(head: Head) -> None:
    """A version's id comes from its content: one that says otherwise would pass for another version."""
    said = head.manifest.version
    true = version(said.script, said.code, args=said.args, conf=said.conf, master=said.master, python=said.python)
    if true.id != said.id:
        message = f"Version {said.id} in the savepoint is not what its id says"
        raise Corrupt("import.version", message, "Do not use it: its code was changed.")
