"""Stops on the command line: waited for, since a stop cannot be cancelled."""

from __future__ import annotations

import typer

from pipelines.cli import output
from pipelines.cli.additions import Parameter, Shown, alias, shows
from pipelines.cli.session import Here
from pipelines.domain.operations import Operation
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.verbs.stop import Stop

CANCEL = "End a job's run at once. It ends in the middle of a batch, without a savepoint; the command waits for the end."


def within(seconds: float) -> Parameter:
    """`--timeout`, with that default."""
    return Parameter(float, typer.Option("--timeout", metavar="SECONDS", min=0, help="How long to wait at most."), seconds)


alias("cancel", Stop, CANCEL, savepoint=False, at_once=True, without=("label",), timeout=60)


@shows(Stop, timeout=within(600))
def _stopped(here: Here, change: Stop, done: Operation) -> Shown:
    if change.at_once:
        output.tell(f"{change.job} cancelled")
        return Shown(done, "")
    savepoint = here.face.ask(ShowSavepoint(done.result)) if done.result else None
    output.tell(f"{change.job} stopped" + (f", savepoint {savepoint.id}" if savepoint else ""))
    return Shown({"operation": done, "savepoint": savepoint}, savepoint.path if savepoint else "")
