"""Annotations of a savepoint, as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.additions import shows
from pipelines.cli.session import Here
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.annotate import Annotate
from pipelines.words import formats


@shows(Annotate)
def _annotated(here: Here, change: Annotate, changed: Savepoint) -> str:
    return output.details([("savepoint", changed.id), *annotation(changed, here.session.now_ms)])


def annotation(savepoint: Savepoint, now_ms: int) -> list[tuple[str, str]]:
    """Label, best before and note, the lines of the note below each other."""
    first, *more = savepoint.note.splitlines() or [formats.MISSING]
    return [
        ("label", savepoint.label or formats.MISSING),
        ("best before", formats.last_day(savepoint.best_before_ms, now_ms, None)),
        ("note", first),
        *(("", line) for line in more),
    ]
