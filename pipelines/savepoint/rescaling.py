"""The plan of rescaling: what a savepoint, or one that is about to be taken, says of its operators and their state files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.checkpoint import logs, offsets, operators, state_schema
from pipelines.domain import rewrites
from pipelines.domain.errors import Conflict
from pipelines.domain.operators import PARTITIONS_CONF
from pipelines.domain.rewrites import OperatorKey, RewritePlan
from pipelines.domain.savepoints import Manifest, Operator, QueryImage, StoredFile
from pipelines.domain.sinks import FILE_SINKS
from pipelines.savepoint import layout
from pipelines.savepoint.source import JobSource
from pipelines.savepoint.take import Look
from pipelines.storage import paths
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage

CUT_OR_AGAIN = FILE_SINKS | {"noop", "console", "memory", "kafka"}
"""Sinks that do not know batches by their numbers, or whose log is cut back to the savepoint."""
Read = Callable[[str], bytes]


@dataclass(frozen=True)
class Held:
    """The contents of a savepoint: its queries, its files by their path in it, and how to read one."""

    images: Sequence[QueryImage]
    files: Mapping[str, StoredFile]
    read: Read


def of_savepoint(library: Storage, manifest: Manifest) -> Held:
    files = {file.path: file for file in manifest.files}
    return Held(manifest.queries, files, lambda path: library.read(layout.inside(manifest.id, path)))


def of_look(look: Look) -> Held:
    """What the savepoint will hold that is taken of what `look` saw."""
    parts = [part for query in look.gathered for part in query.parts]
    sources = {clone.target: (part.source, clone.source) for part in parts for clone in part.clone}
    files = {file.path: file for part in parts for file in part.files}

    def read(path: str) -> bytes:
        storage, source = sources[path]
        return storage.read(source)

    return Held([query.image for query in look.gathered], files, read)


def plan(held: Held, partitions: int, spark_version: str = "") -> RewritePlan:
    """The plan of rescaling the state of `held` to `partitions`; `spark_version` is that of the Spark that will do it, where it is known.

    Raises Corrupt for a state schema that is none.
    """
    return rewrites.decide(held.images, sizes(held), _keyless(held), partitions, spark_version)


def sizes(held: Held) -> Mapping[OperatorKey, int]:
    """Bytes of each operator's state files."""
    return {(image.query, operator.id): _bytes(held, image, operator) for image in held.images for operator in image.operators}


def unfinished(source: JobSource, look: Look) -> Conflict | None:
    """Why a job that does not run cannot be rescaled: a batch of it was planned and not committed, and its sink may have it already.

    It would be done again under the next number, and a sink that knows batches by their numbers would take its rows a second time."""
    batches = {query.image.query: query.image.batch for query in look.gathered}
    for place in source.queries:
        entries = open_storage(place.checkpoint).list(offsets.FOLDER)
        planned = max(logs.batch_ids(paths.name(entry.path) for entry in entries), default=-1)
        if planned > batches[place.query] and place.sink.lower() not in CUT_OR_AGAIN:
            message = f"Batch {planned} of query {place.query} was planned and not committed, and its sink ({place.sink}) may have it"
            hint = "Resume the job, and rescale it while it runs: it is stopped when a batch is whole."
            return Conflict("rescale.batch_planned", message, hint)
    return None


def _bytes(held: Held, image: QueryImage, operator: Operator) -> int:
    base = f"{layout.checkpoint(image.query)}/{operators.folder(operator.id)}/"
    return sum(file.bytes for path, file in held.files.items() if path.startswith(base) and path.removeprefix(base)[:1].isdigit())


def _keyless(held: Held) -> Collection[OperatorKey]:
    """Operators that have one partition where the query has several; where it has one, too, those whose state has no key."""
    return {(image.query, operator.id) for image, operator in _single(held) if not _has_key(held, image, operator)}


def _single(held: Held) -> Iterator[tuple[QueryImage, Operator]]:
    for image in held.images:
        yield from ((image, operator) for operator in image.operators if operator.partitions == 1)


def _has_key(held: Held, image: QueryImage, operator: Operator) -> bool:
    if image.conf.get(PARTITIONS_CONF, "1") != "1":
        return False
    home = f"{layout.checkpoint(image.query)}/"
    inner = [path.removeprefix(home) for path in held.files if path.startswith(home)]
    for store in operator.stores:
        path = state_schema.path(inner, operator.id, store)
        if path is not None and any(schema.key for schema in state_schema.parse(path, held.read(home + path))):
            return True
    return False
