"""Exports and imports of savepoints, as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.additions import Shown, shows
from pipelines.cli.session import Here
from pipelines.domain.operations import Operation
from pipelines.verbs.export import Export
from pipelines.verbs.import_ import Import
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.words import formats


@shows(Export)
def _exported(here: Here, change: Export, done: Operation) -> None:
    output.tell(f"{done.subject} exported in {formats.duration((done.ended_ms or done.created_ms) - done.created_ms)}")


@shows(Import)
def _imported(here: Here, change: Import, done: Operation) -> Shown:
    brought = here.face.ask(ShowSavepoint(done.result))
    output.tell(f"{brought.id} of {brought.job}: {formats.files(brought.files, brought.bytes)}")
    return Shown(brought, brought.id)
