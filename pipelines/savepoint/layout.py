"""The layout of a savepoint: paths relative to the storage that holds all savepoints. `data/README.md` specifies the files."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import QueryName, SavepointId, query_name
from pipelines.domain.savepoints import Manifest
from pipelines.storage import paths

MANIFEST = "manifest.json"
MAKING = "making.json"
DISPOSING = "disposing.json"
CHECKSUMS = "checksums.json"
VERIFIED = "verified.json"
PROGRESS = "progress.json"
ANNOTATION = "annotation.json"
IMPORTED = "imported.json"
LEASES = "leases"


def inside(savepoint: SavepointId, path: str) -> str:
    """`path` of a savepoint as a path of the storage that holds it."""
    return paths.join(savepoint, path)


def checkpoint(query: QueryName) -> str:
    return f"queries/{query}/checkpoint"


def sink_log(query: QueryName) -> str:
    return f"queries/{query}/sink"


def code(script: str) -> str:
    return f"code/{script}"


def trusted(manifest: Manifest, name: str) -> Manifest:
    """`manifest` itself; Corrupt (`savepoint.path`) where one of its names could lead outside of the savepoint or a new checkpoint."""
    homes = [folder(image.query) + "/" for image in manifest.queries for folder in (checkpoint, sink_log)]
    for image in manifest.queries:
        if query_name(image.query) != image.query:
            raise _refused(name, image.query)
    for part in filter(None, (manifest.id, manifest.job, manifest.version.id, manifest.run)):
        if query_name(part) != part:
            raise _refused(name, part)
    for path in [file.path for file in manifest.files]:
        if not _relative(path) or not (path.startswith("code/") or any(path.startswith(home) for home in homes)):
            raise _refused(name, path)
    if "/" in manifest.version.script or not _relative(manifest.version.script):
        raise _refused(name, manifest.version.script)
    return manifest


def below(files: Iterable[str], folder: str) -> list[str]:
    """Those of `files` that are in `folder`."""
    return [path for path in files if path.startswith(folder + "/")]


def _relative(path: str) -> bool:
    return "\\" not in path and "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _refused(name: str, path: str) -> Corrupt:
    return Corrupt(
        "savepoint.path",
        f"{name} names {path!r}, which is not a path inside a savepoint",
        "The manifest was damaged or made elsewhere with intent: do not restore it; use another savepoint.",
    )
