"""Versions on the shell: without a name their tree, with one its code."""

from __future__ import annotations

from typing import Annotated

import typer

from pipelines.cli import output
from pipelines.cli.additions import command
from pipelines.cli.nouns.tree import tree_text
from pipelines.cli.session import Here
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.files import text
from pipelines.domain.versions import Version
from pipelines.verbs.experiments import ShowTree, ShowVersion
from pipelines.verbs.jobs import ListJobs


@command("versions", "versions")
def versions(
    here: Here,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="Id of a version, to print its code.", show_default=False)] = "",
    file: Annotated[str, typer.Option("--file", metavar="NAME", help="Print this file of it instead.", show_default=False)] = "",
) -> None:
    """Print the tree of versions. It has jobs, savepoints and forks; with a version's id, that version's code is printed instead."""
    if not version:
        tree = here.face.ask(ShowTree())
        attention = {job.job.name: ", ".join(finding.title for finding in job.findings) for job in here.face.ask(ListJobs())}
        here.show(tree, tree_text(tree, attention, here.session.now_ms))
        return
    shown = here.face.ask(ShowVersion(version))
    confs = " ".join(f"{key}={value}" for key, value in shown.conf.items())
    output.tell(f"{shown.id}: {shown.script} {' '.join(shown.args)}\nmaster {shown.master} {confs}".rstrip())
    if shown.files:
        output.tell(f"files {', '.join(sorted(shown.files))}")
    here.show(shown, _text(shown, file).rstrip("\n"))


def _text(version: Version, file: str) -> str:
    """The text of the script, or of a file beside it; NotFound (`version.no_file`), Invalid (`version.not_text`)."""
    if file in ("", version.script):
        return version.code
    if file not in version.files:
        raise NotFound(
            "version.no_file", f"Version {version.id} has no file {file!r}", f"It has {', '.join([version.script, *version.files])}."
        )
    shown = text(version.files[file])
    if shown is None:
        raise Invalid("version.not_text", f"{file} is no text", f"It lies in the workspace, in versions/{version.id}/code.")
    return shown
