"""Annotations: what people say of a savepoint after it was taken."""

from __future__ import annotations

from pipelines.domain.annotations import Annotation
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import annotation
from pipelines.verbs.annotate import Annotate
from pipelines.workspace import events, savepoints
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans


@plans(Annotate)
def plan(context: Context, change: Annotate) -> Planned[Savepoint, Annotation]:
    """The savepoint with its label, note and best before as the change leaves them. Raises what `domain.annotations.changed` raises."""
    savepoint = savepoints.get(context, change.savepoint)
    return Planned(_annotation(context, savepoint, change), lambda _: _annotate(context, savepoint, change))


def _annotation(context: Context, savepoint: Savepoint, change: Annotate) -> Annotation:
    fields = (change.label, change.note, change.best_before_ms)
    return annotation.annotation(context.shelf(savepoint.id), savepoint.id, *fields, context.now_ms())


def _annotate(context: Context, savepoint: Savepoint, change: Annotate) -> Savepoint:
    """Applies one change at a time to the newest annotation, so that two that were planned at once are both kept."""
    with context.claiming(f"annotation of {savepoint.id}"):
        annotation.write(context.shelf(savepoint.id), _annotation(context, savepoint, change))
        savepoints.refresh(context, savepoint.id)
    fields = {"label": change.label, "note": change.note, "best before": change.best_before_ms}
    names = ", ".join(name for name, value in fields.items() if value is not None)
    events.say(context, "savepoint.annotated", savepoint.job, savepoint.id, f"{names} of savepoint {savepoint.id} changed")
    return savepoints.get(context, savepoint.id)
