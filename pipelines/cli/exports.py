"""Verbs of savepoints on their way out of a workspace and back: export, import."""

from __future__ import annotations

from typing import Annotated, TypeVar

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.following import followed
from pipelines.cli.plans import export_plan
from pipelines.cli.session import opened
from pipelines.domain.operations import Operation
from pipelines.domain.requests import ExportRequest, ImportRequest
from pipelines.domain.savepoints import ExportPlan

T = TypeVar("T")


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    app.command()(export)
    app.command("import")(import_savepoint)


def export(
    ctx: typer.Context,
    savepoint: options.SavepointNamed,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Where to: a path or URL; one that ends in .tar.zst becomes one file.", show_default=False)
    ],
    archive: Annotated[
        bool | None, typer.Option("--archive/--directory", help="One .tar.zst file, or a directory; by the ending of URL if not given.")
    ] = None,
    then_dispose: Annotated[
        bool, typer.Option("--then-dispose", help="Dispose of it here once the copy was read back and found intact.")
    ] = False,
    dry_run: options.DryRun = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Copy a savepoint out of the workspace. Prints where it is; Ctrl-C cancels and removes what was copied."""
    with opened(ctx, workspace, as_json) as here:
        request = ExportRequest(options.place(url), archive, then_dispose, dry_run)
        named = options.savepoint_name(savepoint)
        if dry_run:
            plan = _expected(ExportPlan, here.face.export(named, request))
            here.show(plan, export_plan(plan))
            return
        done = followed(here, lambda: _expected(Operation, here.face.export(named, request)))
        output.tell(f"{done.subject} exported in {formats.duration((done.ended_ms or done.created_ms) - done.created_ms)}")
        here.show(done, done.result)


def import_savepoint(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where an export put it: a path or URL.", show_default=False)],
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Bring an exported savepoint into the workspace. Prints its id; Ctrl-C cancels and removes what was copied."""
    with opened(ctx, workspace, as_json) as here:
        done = followed(here, lambda: here.face.import_savepoint(ImportRequest(options.place(url))))
        brought = here.face.savepoint(done.result)
        output.tell(f"{brought.id} of {brought.job}: {formats.size(brought.bytes)} in {formats.counted(brought.files, 'file')}")
        here.show(brought, brought.id)


def _expected(kind: type[T], answer: object) -> T:
    """The answer to a request that decides its kind: a plan to a dry run, else an operation."""
    assert isinstance(answer, kind)
    return answer
