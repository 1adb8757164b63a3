"""The checkpoints of a job that runs elsewhere, as they are typed: one and its query, or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from pipelines.cli.additions import Parameter, completes, shows
from pipelines.cli.nouns import code
from pipelines.cli.session import Here
from pipelines.cli.words import place
from pipelines.domain.ids import query_of
from pipelines.domain.jobs import Run
from pipelines.verbs.attach import Attach

CHECKPOINT = Parameter(
    str, typer.Argument(metavar="CHECKPOINT", help="Checkpoint location of its query: a path or URL.", show_default=False), None
)
QUERY = Parameter(
    str, typer.Option("--query", help="Name that its script gives the query of CHECKPOINT; that of its folder if not given."), None
)


@completes(Attach, "checkpoints", checkpoint=CHECKPOINT, query=QUERY, **code.SHIPPED)
def _with_places(here: Here, values: Mapping[str, Any]) -> Mapping[str, Any]:
    checkpoint, query = here.words["checkpoint"], here.words["query"]
    asked = code.of_script(here, values, here.words["code"])
    return {**asked, "checkpoints": _places(checkpoint, query, values.get("checkpoints", {}))}


@shows(Attach)
def _watched(here: Here, change: Attach, run: Run) -> None:
    """Prints job and run. A watched job is not started, so nothing is waited for."""


def _places(checkpoint: str | None, query: str | None, several: Mapping[str, str]) -> dict[str, str]:
    """Query -> checkpoint, from CHECKPOINT or from --checkpoint; a usage error for both, and for neither."""
    if bool(checkpoint) == bool(several):
        raise typer.BadParameter("give either CHECKPOINT or one or more --checkpoint QUERY=URL", param_hint="CHECKPOINT")
    if checkpoint:
        return {query or query_of(checkpoint): place(checkpoint)}
    if query is not None:
        raise typer.BadParameter("it names the query of CHECKPOINT; --checkpoint names its own", param_hint="--query")
    return {name: place(url) for name, url in several.items()}
