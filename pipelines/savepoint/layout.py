"""The layout of a savepoint: paths relative to the storage that holds all savepoints. `data/README.md` specifies the files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipelines.domain import files
from pipelines.domain.errors import Corrupt
from pipelines.domain.ids import SavepointId, folder_of, query_name
from pipelines.domain.savepoints import Manifest
from pipelines.storage import paths

SAVEPOINT_PREFIX = "sp-"
"""What the id of every savepoint begins with: no call of REST that stands beside the ids does."""
MANIFEST = "manifest.json"
MAKING = "making.json"
DISPOSING = "disposing.json"
CHECKSUMS = "checksums.json"
VERIFIED = "verified.json"
PROGRESS = "progress.json"
ANNOTATION = "annotation.json"
HOLDINGS = "holdings.json"
IMPORTED = "imported.json"
LATER = (PROGRESS, VERIFIED, ANNOTATION)
"""What a savepoint may hold beside its files, its seal and its manifest, and takes along."""
LEASES = "leases"
OBJECT = re.compile(r"[0-9a-f]{16}/[0-9a-f]{32}\.[\w-]{1,255}", re.ASCII)
"""The name of a file that savepoints of a home share (`pipelines.savepoint.objects`)."""
HINT = "The manifest was damaged or made elsewhere with intent: do not restore it; use another savepoint."


def inside(savepoint: SavepointId, path: str) -> str:
    """`path` of a savepoint as a path of the storage that holds it."""
    return paths.join(savepoint, path)


def of_query(query: str) -> str:
    return f"queries/{folder_of(query)}"


def checkpoint(query: str) -> str:
    return f"{of_query(query)}/checkpoint"


def sink_log(query: str) -> str:
    return f"{of_query(query)}/sink"


def table(query: str) -> str:
    """Where a savepoint holds the Delta table that the query writes to."""
    return f"{of_query(query)}/table"


def code(script: str) -> str:
    return f"code/{script}"


def outside(path: str) -> str:
    """Where a savepoint carries the large file that a workspace keeps at `path`."""
    return f"outside/{path}"


def trusted(manifest: Manifest, name: str) -> Manifest:
    """`manifest` itself; Corrupt (`savepoint.path`) where one of its names could lead outside of the savepoint or a new checkpoint."""
    homes = [folder(image.query) + "/" for image in manifest.queries for folder in (checkpoint, sink_log, table)]
    for image in manifest.queries:
        if query_name(image.query) != image.query:
            raise _refused(name, image.query)
    if not manifest.id.startswith(SAVEPOINT_PREFIX):
        raise _refused(name, manifest.id)
    for part in filter(None, (manifest.id, manifest.job, manifest.version.id, manifest.run)):
        if folder_of(part) != part:
            raise _refused(name, part)
    held = {file.path for file in manifest.files}
    for path in held:
        if not _relative(path) or not (path.startswith(("code/", outside(""))) or any(path.startswith(home) for home in homes)):
            raise _refused(name, path)
    for path, shared in manifest.objects.items():
        if path not in held or not is_object(shared):
            raise _refused(name, shared)
    if "/" in manifest.version.script or not _relative(manifest.version.script):
        raise _refused(name, manifest.version.script)
    version = manifest.version
    problem = files.problem(version.script, version.code, version.files) if version.files else ""
    if problem:
        raise Corrupt("savepoint.path", f"The code in {name} is no version's: {problem}", HINT)
    return manifest


def is_object(name: str) -> bool:
    return OBJECT.fullmatch(name) is not None


def below(files: Iterable[str], folder: str) -> list[str]:
    """Those of `files` that are in `folder`."""
    return [path for path in files if path.startswith(folder + "/")]


def _relative(path: str) -> bool:
    return "\\" not in path and "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _refused(name: str, path: str) -> Corrupt:
    return Corrupt(
        "savepoint.path",
        f"{name} names {path!r}, which is not a path inside a savepoint",
        HINT,
    )
