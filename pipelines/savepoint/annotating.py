"""`annotation.json` beside a manifest: what people said of the savepoint later. The manifest itself is never changed."""

from __future__ import annotations

from pipelines.domain.annotations import ANNOTATION_FORMAT, Annotation, changed, checked, first
from pipelines.domain.errors import Corrupt, Invalid, NotFound
from pipelines.domain.ids import SavepointId
from pipelines.domain.requests import AnnotateRequest
from pipelines.savepoint import layout, manifests
from pipelines.storage import documents
from pipelines.storage.protocol import Storage


def annotate(library: Storage, savepoint: SavepointId, request: AnnotateRequest, now_ms: int) -> Annotation:
    """The annotation as `request` leaves it, on disk when this returns. One call a savepoint at a time.

    Raises what `changed` raises, NotFound for a savepoint that is not there or goes meanwhile, and what `read` raises.
    """
    manifest = manifests.load(library, savepoint)
    made = changed(read(library, savepoint) or first(savepoint, manifest.label), request, now_ms)
    manifests.write_beside(library, savepoint, layout.ANNOTATION, documents.encode(made))
    return made


def read(library: Storage, savepoint: SavepointId) -> Annotation | None:
    """None where nobody has annotated it; Corrupt, or Unsupported for a newer format."""
    try:
        data = library.read(layout.inside(savepoint, layout.ANNOTATION))
    except NotFound:
        return None
    return decode(data, savepoint)


def decode(data: bytes, savepoint: SavepointId) -> Annotation:
    """The annotation in `data`, which lies beside the manifest of `savepoint`; raises like `read`."""
    name = f"{layout.ANNOTATION} of savepoint {savepoint}"
    manifests.refuse_newer(data, name, ANNOTATION_FORMAT)
    found = documents.decode(Annotation, data, name)
    if found.savepoint != savepoint:
        raise Corrupt("savepoint.annotation", f"{name} is that of {found.savepoint}", "Delete it, and annotate the savepoint anew.")
    try:
        return checked(found)
    except Invalid as error:
        raise Corrupt("savepoint.annotation", f"{name}: {error.message}", "Delete it, and annotate the savepoint anew.") from error
