"""What people say of a savepoint after it was taken: label, note, best before. Never of its content, which does not change."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.errors import Invalid
from pipelines.domain.ids import SavepointId
from pipelines.domain.requests import AnnotateRequest
from pipelines.domain.savepoints import Savepoint

ANNOTATION_FORMAT = 1
MOST_LABEL = 120
"""Characters of a label, which is one line."""
MOST_NOTE = 4_000
"""Characters of a note, which may be several lines."""
LATEST_MS = 253_402_300_799_999
"""The last moment of the year 9999."""


@dataclass(frozen=True)
class Annotation:
    """`annotation.json`: replaced whole by each change. Its label stands in place of the manifest's."""

    format: int
    savepoint: SavepointId
    label: str
    note: str
    best_before_ms: int | None
    """After this moment (epoch ms) the savepoint may be disposed of; nothing disposes of it by itself. None: it is kept."""
    changed_ms: int


def first(savepoint: SavepointId, label: str) -> Annotation:
    """What stands for a savepoint that nobody has annotated: the label that it was taken with."""
    return Annotation(ANNOTATION_FORMAT, savepoint, label, "", None, 0)


def changed(before: Annotation, request: AnnotateRequest, now_ms: int) -> Annotation:
    """`before` with what `request` gives; Invalid (`annotation.nothing`, `annotation.label`, `.note`, `.best_before`)."""
    if request == AnnotateRequest():
        raise Invalid("annotation.nothing", "Nothing was given to change", "Give a label, a note or a best-before date.")
    label = before.label if request.label is None else request.label.strip()
    note = before.note if request.note is None else request.note.replace("\r\n", "\n").strip()
    best_before_ms = before.best_before_ms if request.best_before_ms is None else request.best_before_ms or None
    return checked(replace(before, label=label, note=note, best_before_ms=best_before_ms, changed_ms=now_ms))


def checked(annotation: Annotation) -> Annotation:
    """`annotation` itself; Invalid where a part of it is too long, or is no date."""
    if len(annotation.label) > MOST_LABEL or not annotation.label.isprintable():
        said = f"A label is one line of at most {MOST_LABEL} characters; this one has {len(annotation.label):,}"
        raise Invalid("annotation.label", said, "Put the rest into the note.")
    if len(annotation.note) > MOST_NOTE or "\0" in annotation.note:
        said = f"A note is text of at most {MOST_NOTE:,} characters; this one has {len(annotation.note):,}"
        raise Invalid("annotation.note", said, "Shorten it, or say where the rest is.")
    if annotation.best_before_ms is not None and not 0 < annotation.best_before_ms <= LATEST_MS:
        raise Invalid("annotation.best_before", "The best-before date is not between 1970 and 9999", "Give a date such as 2027-03-31.")
    return annotation


def annotated(savepoint: Savepoint, annotation: Annotation | None) -> Savepoint:
    """`savepoint` as lists show it with its annotation."""
    if annotation is None:
        return savepoint
    return replace(savepoint, label=annotation.label, note=annotation.note, best_before_ms=annotation.best_before_ms)
