"""The verb that says something of a savepoint after it was taken: annotate."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.session import opened
from pipelines.domain.moments import best_before_ms
from pipelines.domain.requests import AnnotateRequest
from pipelines.domain.savepoints import Savepoint

NONE = "none"


def register(app: typer.Typer) -> None:
    """Adds this module's verb."""
    app.command()(annotate)


def annotate(
    ctx: typer.Context,
    savepoint: options.SavepointNamed,
    label: Annotated[str | None, typer.Option("--label", help="One line to find it by; '' takes it away.", show_default=False)] = None,
    note: Annotated[
        str | None,
        typer.Option("--note", metavar="TEXT", help="What there is to know, several lines; '' takes it away.", show_default=False),
    ] = None,
    best_before: Annotated[
        str | None,
        typer.Option(
            "--best-before",
            metavar="DATE",
            help="The last day that it is needed: 2027-03-31, or +30d; none takes it away. Nothing disposes of it by itself.",
            show_default=False,
        ),
    ] = None,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Change a savepoint's label, note or best-before date. What was taken is not changed; what is not given stays."""
    with opened(ctx, workspace, as_json) as here:
        until_ms = None if best_before is None else 0 if best_before == NONE else best_before_ms(best_before, here.session.now())
        changed = here.face.annotate(options.savepoint_name(savepoint), AnnotateRequest(label, note, until_ms))
        here.show(changed, output.details([("savepoint", changed.id), *annotation(changed, here.session.now_ms)]))


def annotation(savepoint: Savepoint, now_ms: int) -> list[tuple[str, str]]:
    """Label, best before and note, the lines of the note below each other."""
    first, *more = savepoint.note.splitlines() or [formats.NOTHING]
    return [
        ("label", savepoint.label or formats.NOTHING),
        ("best before", formats.until(savepoint.best_before_ms, now_ms)),
        ("note", first),
        *(("", line) for line in more),
    ]
