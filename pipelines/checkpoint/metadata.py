"""The `metadata` file: which query a checkpoint belongs to (StreamMetadata)."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.checkpoint import damage, logs
from pipelines.domain.errors import NotFound
from pipelines.storage.protocol import Storage

FILE = "metadata"


@dataclass(frozen=True)
class QueryMetadata:
    """What Spark writes once, when the query starts for the first time."""

    query_id: str


def parse(data: bytes, path: str = FILE) -> QueryMetadata:
    """The file's content; raises Corrupt."""
    raw = logs.json_object(path, logs.decoded(path, data))
    return QueryMetadata(logs.field(path, raw, "id", str))


def read(storage: Storage) -> QueryMetadata:
    """The checkpoint's query; raises NotFound where there is no checkpoint, Corrupt for a broken file."""
    try:
        return parse(storage.read(FILE))
    except NotFound as error:
        raise damage.not_a_checkpoint(storage.url) from error


def serialized(metadata: QueryMetadata) -> bytes:
    """The file for `metadata`, as Spark writes it; a fork gets an id of its own with it."""
    return f'{{"id":"{metadata.query_id}"}}'.encode()
