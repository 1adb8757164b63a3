"""Where a savepoint is restored to, and which of its files go there as they are or written anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.checkpoint import metadata, relocation
from pipelines.domain.ids import JobName, QueryName
from pipelines.domain.savepoints import Manifest, QueryImage, SinkPlan, StoredFile
from pipelines.domain.versions import Version
from pipelines.savepoint import places, sinks
from pipelines.storage import paths
from pipelines.storage.protocol import Storage

SINK_LOGS = ".sinks"
SINK_ROOT = "root"
"""Beside a restored sink log: the output directory that its entries were written to."""


@dataclass(frozen=True)
class Fork:
    """A new job from a savepoint. `checkpoints` (absolute path or URL) must not exist; `version` is what the fork will run."""

    job: JobName
    checkpoints: str
    version: Version
    parent_output: str
    """The output directory of the job that the savepoint was taken of."""
    new_query_id: Callable[[], str]


@dataclass(frozen=True)
class Resume:
    """The same job again from one of its savepoints, in new `checkpoints`, which must not exist."""

    job: JobName
    checkpoints: str


Target = Fork | Resume


def sink_plans(manifest: Manifest, target: Target) -> tuple[SinkPlan, ...]:
    """What happens with each query's sink."""
    if isinstance(target, Resume):
        return tuple(sinks.for_resume(image) for image in manifest.queries)
    return tuple(sinks.for_fork(image, manifest.version.args, target.version.args, target.parent_output) for image in manifest.queries)


def sink_logs(manifest: Manifest, checkpoints: str) -> dict[QueryName, str]:
    """Query -> absolute directory of the log to carry into its file sink, for queries whose sink had one."""
    files = [file.path for file in manifest.files]
    logged = [image.query for image in manifest.queries if places.below(files, places.sink_log(image.query))]
    return {query: f"{checkpoints.rstrip('/')}/{SINK_LOGS}/{query}" for query in logged}


def as_they_are(manifest: Manifest, target: Target) -> dict[str, StoredFile]:
    """Path below the new checkpoints -> file of the savepoint, less those written anew and Hadoop's checksums of them."""
    anew = {path for image in manifest.queries for path in _anew(manifest, image, target)}
    gone = anew | {paths.join(paths.parent(path), f".{paths.name(path)}.crc") for path in anew}
    moves = {path: file for image in manifest.queries for path, file in _moves(manifest, image)}
    return {path: file for path, file in moves.items() if path not in gone}


def written_anew(library: Storage, manifest: Manifest, target: Target) -> dict[str, bytes]:
    """Path below the new checkpoints -> content: a fork's own query ids, what names the place of its checkpoint, the sinks' roots."""
    logged = sink_logs(manifest, target.checkpoints)
    made = {paths.join(SINK_LOGS, image.query, SINK_ROOT): image.sink_path.encode() for image in manifest.queries if image.query in logged}
    for image in manifest.queries:
        for path, inner in _anew(manifest, image, target).items():
            made[path] = _content(library, manifest, image, target, inner)
    return made


def _content(library: Storage, manifest: Manifest, image: QueryImage, target: Target, inner: str) -> bytes:
    if inner == metadata.FILE and isinstance(target, Fork):
        return metadata.serialized(metadata.QueryMetadata(target.new_query_id()))
    data = library.read(places.inside(manifest.id, paths.join(places.checkpoint(image.query), inner)))
    return relocation.relocated(inner, data, f"{target.checkpoints.rstrip('/')}/{image.query}")


def _anew(manifest: Manifest, image: QueryImage, target: Target) -> Mapping[str, str]:
    """Path below the new checkpoints -> path in the query's checkpoint."""
    home = places.checkpoint(image.query) + "/"
    inner = [file.path.removeprefix(home) for file in manifest.files if file.path.startswith(home)]
    wanted = [path for path in inner if relocation.names_its_place(path) or (path == metadata.FILE and isinstance(target, Fork))]
    return {paths.join(image.query, path): path for path in wanted}


def _moves(manifest: Manifest, image: QueryImage) -> Iterator[tuple[str, StoredFile]]:
    homes = {places.checkpoint(image.query): str(image.query), places.sink_log(image.query): f"{SINK_LOGS}/{image.query}"}
    for home, new_home in homes.items():
        for file in manifest.files:
            if file.path.startswith(home + "/"):
                yield new_home + file.path.removeprefix(home), file
