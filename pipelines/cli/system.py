"""Verbs of the workspace itself: events, example, catalog rebuild."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.session import opened
from pipelines.domain.events import EventFilter
from pipelines.domain.jobs import Event
from pipelines.domain.moments import moment_ms

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
    kind: Annotated[str, typer.Option("--kind", help="A kind (run.failed), its first word, or failures.")] = "",
    text: Annotated[str, typer.Option("--text", help="Words that all occur in the event.")] = "",
    by: Annotated[str, typer.Option("--by", help="Who did it: page, command, REST, supervisor, driver.")] = "",
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="Not before: 2027-01-15T08:00, 08:00:30 (today) or -10m.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Not after.")] = "",
    before: Annotated[str, typer.Option("--before", metavar="PLACE", help="Older ones: go on where the last list said.")] = "",
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """List what happened and who did it, newest first."""
    with opened(ctx, workspace, as_json) as here:
        now, now_ms = here.session.now(), here.session.now_ms
        from_ms, to_ms = (moment_ms(one, now) if one else None for one in (since, until))
        known = here.face.events(limit=limit, wanted=EventFilter(job, kind, text, by, from_ms, to_ms, before))
        rows = [_event_row(one, now_ms) for one in known]
        if len(known) == limit:
            output.tell(f"Older ones: --before {known[-1].cursor}")
        here.show(known, output.Table(("AT", "KIND", "JOB", "SUBJECT", "BY", "MESSAGE"), rows) if rows else "")


def _event_row(one: Event, now_ms: int) -> tuple[str, ...]:
    return (formats.when(one.at_ms, now_ms), one.kind, one.job or "", one.subject, one.actor, one.message)


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
