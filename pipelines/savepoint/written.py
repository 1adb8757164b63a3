"""The data files of a query's output as of a savepoint: what its file sink's log names, where those files are now."""

from __future__ import annotations

from pipelines.checkpoint import sink_log
from pipelines.domain.errors import Conflict
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.savepoint import history, layout
from pipelines.storage.protocol import Storage

GONE = "output.history_gone"


def files(library: Storage, manifest: Manifest, image: QueryImage, parent_output: str) -> tuple[str, ...]:
    """Absolute paths; none for a query that had not begun. Raises Conflict (`output.history_gone`) where one is no longer there.

    `parent_output` is the directory that `{output}` means for the job in this workspace.
    """
    if not image.begun or not history.log_names(manifest, image):
        return ()
    past = history.find(library, manifest, image, parent_output)
    if past is None or past.gone:
        what = f"{past.gone:,} of the {past.files:,} files" if past else "The files"
        message = f"{what} with the rows of query {image.query} up to batch {image.batch} (savepoint {manifest.id}) are not on this machine"
        raise Conflict(GONE, message, "Put them back, or choose savepoints whose output is still there.")
    log = sink_log.read(library, image.batch, layout.inside(manifest.id, layout.sink_log(image.query)))
    places = (history.inner(file.path, image.sink_path, manifest.job) for file in sink_log.live_files(log, image.batch))
    return tuple(f"{past.root.rstrip('/')}/{place}" for place in places if place is not None)
