"""`annotation.json` beside a manifest: what people said of the savepoint later. The manifest itself is never changed."""

from __future__ import annotations

from pipelines.domain.annotations import ANNOTATION_FORMAT, Annotation, changed, checked, first
from pipelines.domain.errors import Corrupt, Invalid, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import layout, manifests
from pipelines.storage import documents
from pipelines.storage.protocol import Storage


def annotation(
    library: Storage, savepoint: SavepointId, label: str | None, note: str | None, best_before_ms: int | None, now_ms: int
) -> Annotation:
    """The annotation as a change leaves it; nothing is written.

    Raises what `changed` raises, NotFound for a savepoint that is not there, and what `read` raises.
    """
    manifest = manifests.load(library, savepoint)
    return changed(read(library, savepoint) or first(savepoint, manifest.label), label, note, best_before_ms, now_ms)


def write(library: Storage, annotation: Annotation) -> None:
    """Writes `annotation.json`, on disk when this returns; NotFound where the savepoint was deleted. One call a savepoint at a time."""
    manifests.write_beside(library, annotation.savepoint, layout.ANNOTATION, documents.encode(annotation))


def read(library: Storage, savepoint: SavepointId) -> Annotation | None:
    """Reads the annotation, None where there is none; Corrupt, or Unsupported for a newer format."""
    try:
        data = library.read(layout.inside(savepoint, layout.ANNOTATION))
    except NotFound:
        return None
    return decode(data, savepoint)


def decode(data: bytes, savepoint: SavepointId) -> Annotation:
    """The annotation in `data`, which lies beside the manifest of `savepoint`; raises like `read`."""
    name = f"{layout.ANNOTATION} of savepoint {savepoint}"
    annotation = documents.decode(Annotation, data, name, ANNOTATION_FORMAT)
    if annotation.savepoint != savepoint:
        raise Corrupt(
            "savepoint.annotation", f"{name} belongs to savepoint {annotation.savepoint}", "Delete it, and annotate the savepoint anew."
        )
    try:
        return checked(annotation)
    except Invalid as error:
        raise Corrupt("savepoint.annotation", f"{name}: {error.message}", "Delete it, and annotate the savepoint anew.") from error
