"""Versions on the shell: without a name their tree, with one its code."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import output
from pipelines.cli.additions import command
from pipelines.cli.nouns.tree import tree_text
from pipelines.cli.session import Here
from pipelines.verbs.experiments import ShowTree, ShowVersion


@command("versions", "versions")
def versions(
    here: Here,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="Id of a version, to print its code.", show_default=False)] = "",
) -> None:
    """Print the tree of versions. It has jobs, savepoints and forks; with a version's id, that version's code is printed instead."""
    if not version:
        tree = here.face.ask(ShowTree())
        here.show(tree, tree_text(tree, here.session.now_ms))
        return
    shown = here.face.ask(ShowVersion(version))
    confs = " ".join(f"{key}={value}" for key, value in shown.conf.items())
    output.tell(f"{shown.id}: {shown.script} {' '.join(shown.args)}\nmaster {shown.master} {confs}".rstrip())
    here.show(shown, shown.code.rstrip("\n"))
