"""The verb that deletes savepoints: dispose."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.plans import dispose_plan
from pipelines.cli.session import opened
from pipelines.domain.disposals import Disposal, DisposeOutcome


def register(app: typer.Typer) -> None:
    """Adds this module's verb."""
    app.command()(dispose)


def dispose(
    ctx: typer.Context,
    savepoints: Annotated[
        list[str], typer.Argument(metavar="SAVEPOINT...", help="Ids of savepoints, unique beginnings, or paths.", show_default=False)
    ],
    dry_run: options.DryRun = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Delete savepoints. One that is refused (a fork in the making needs it) keeps no other; the exit code is then the first refusal's."""
    with opened(ctx, workspace, as_json) as here:
        found = here.face.dispose_many([options.savepoint_name(name) for name in savepoints], dry_run=dry_run)
        output.tell(_told(found, dry_run))
        here.show(found, "\n\n".join(map(_outcome, found.outcomes)))
        for one in found.refused:
            if one.refusal is not None:
                raise one.refusal.error


def _told(found: Disposal, dry_run: bool) -> str:
    """What the disk gets back for all of them, which need not be the sum of what each would free alone."""
    refused = f", {len(found.refused)} refused" if found.refused else ""
    doing = "would free" if dry_run else "freed"
    return f"{doing} {formats.size(found.frees_bytes)} with {formats.counted(len(found.plans), 'savepoint')}{refused}"


def _outcome(one: DisposeOutcome) -> str:
    if one.plan is not None:
        return dispose_plan(one.plan)
    return output.details([("savepoint", one.savepoint), ("refused", one.refusal.message if one.refusal else "")])
