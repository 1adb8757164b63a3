"""Verbs of the workspace itself: events, example, catalog rebuild."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.session import opened

catalog = typer.Typer(help="The index of the workspace.", no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Adds this module's verbs."""
    app.command()(events)
    app.command()(example)
    app.add_typer(catalog, name="catalog")


def events(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="[JOB]", help="Only those of this job.", show_default=False)] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most this many, the newest.")] = 50,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """List what happened, newest first."""
    with opened(ctx, workspace, as_json) as here:
        known = here.face.events(job, limit=limit)
        now_ms = here.session.now_ms
        rows = [(formats.when(one.at_ms, now_ms), one.kind, one.job or "", one.subject, one.message) for one in known]
        here.show(known, output.Table(("AT", "KIND", "JOB", "SUBJECT", "MESSAGE"), rows) if rows else "")


def example(ctx: typer.Context, workspace: options.Workspace = None, as_json: options.AsJson = False) -> None:
    """Start the example. An event generator and a job that counts; prints their names and runs' ids."""
    with opened(ctx, workspace, as_json) as here:
        begun = here.face.start_example()
        here.session.tick()
        if not begun:
            output.tell("The example runs already.")
        here.show(begun, "\n".join(f"{run.job} {run.id}" for run in begun))


@catalog.command()
def rebuild(ctx: typer.Context, workspace: options.Workspace = None, as_json: options.AsJson = False) -> None:
    """Make the index anew from the files. Prints rows by table."""
    with opened(ctx, workspace, as_json, rebuilding=True) as here:
        counted = here.face.rebuild_catalog()
        rows = [(table, formats.count(rows)) for table, rows in counted.items()]
        here.show(counted, output.Table(("TABLE", "ROWS>"), rows))
