"""Annotations of a savepoint: label, note and best-before date. The savepoint itself never changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.bounds import LATEST_MS, Format, Moment
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.texts import LABEL, NOTE

ANNOTATION_FORMAT = 1


@dataclass(frozen=True)
class Annotation:
    """`annotation.json`: replaced whole by each change. Its label stands in place of the manifest's."""

    format: Format
    savepoint: SavepointId
    label: str
    note: str
    best_before_ms: Moment | None
    """After this moment (epoch ms) the savepoint may be disposed of; nothing disposes of it by itself. None: it is kept."""
    changed_ms: Moment


def first(savepoint: SavepointId, label: str) -> Annotation:
    """The annotation of a savepoint without `annotation.json`: the label that it was taken with."""
    return Annotation(ANNOTATION_FORMAT, savepoint, label, "", None, 0)


def changed(before: Annotation, label: str | None, note: str | None, best_before_ms: int | None, now_ms: int) -> Annotation:
    """`before` with what is given, None leaving what is there.

    Raises Invalid (`annotation.nothing`, `annotation.label`, `.note`, `.best_before`)."""
    if label is None and note is None and best_before_ms is None:
        raise Invalid("annotation.nothing", "Nothing was given to change", "Give a label, a note or a best-before date.")
    line = before.label if label is None else label.strip()
    text = before.note if note is None else note.replace("\r\n", "\n").strip()
    until_ms = before.best_before_ms if best_before_ms is None else best_before_ms or None
    return checked(replace(before, label=line, note=text, best_before_ms=until_ms, changed_ms=now_ms))


def checked(annotation: Annotation) -> Annotation:
    """`annotation` itself; Invalid where a part of it is too long, or is no date."""
    LABEL.checked(annotation.label, "The label")
    NOTE.checked(annotation.note, "The note")
    if annotation.best_before_ms is not None and not 0 < annotation.best_before_ms <= LATEST_MS:
        raise Invalid("annotation.best_before", "The best-before date is not between 1970 and 9999", "Give a date such as 2027-03-31.")
    return annotation


def annotated(savepoint: Savepoint, annotation: Annotation | None) -> Savepoint:
    """`savepoint` as lists show it with its annotation."""
    if annotation is None:
        return savepoint
    return replace(savepoint, label=annotation.label, note=annotation.note, best_before_ms=annotation.best_before_ms)
