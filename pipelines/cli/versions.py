"""The verb of versions: without a name their tree, with one its code."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import options, output
from pipelines.cli.session import opened
from pipelines.cli.tree import tree_text


def register(app: typer.Typer) -> None:
    """Adds this module's verb."""
    app.command()(versions)


def versions(
    ctx: typer.Context,
    version: Annotated[str, typer.Argument(metavar="[VERSION]", help="Id of a version, to print its code.", show_default=False)] = "",
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the tree of versions. Jobs, savepoints and forks; with a version's id, that version's code."""
    with opened(ctx, workspace, as_json) as here:
        if not version:
            tree = here.face.tree()
            here.show(tree, tree_text(tree, here.session.now_ms))
            return
        found = here.face.version(version)
        confs = " ".join(f"{key}={value}" for key, value in found.conf.items())
        output.tell(f"{found.id}: {found.script} {' '.join(found.args)}\nmaster {found.master} {confs}".rstrip())
        here.show(found, found.code.rstrip("\n"))
