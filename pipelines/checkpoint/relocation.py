"""Files of a checkpoint that contain its absolute path, and their content for another path."""

from __future__ import annotations

import json
import re
from typing import Any

from pipelines.checkpoint import damage, logs, operators

_SCHEMA_PATH = re.compile(r".*/(state/[0-9]+/_stateSchema/[^/]+/[^/]+)")
_METADATA_PATH = re.compile(r"state/[0-9]+/_metadata/v2/[0-9]+")


def names_its_place(path: str) -> bool:
    """Whether the file at `path` holds absolute paths: the operator metadata of transformWithState names its schema files so."""
    return _METADATA_PATH.fullmatch(path) is not None


def relocated(path: str, data: bytes, checkpoint_url: str) -> bytes:
    """`data`, the content of `path`, for a checkpoint at `checkpoint_url`; raises Corrupt, Unsupported.

    Without this a copy reads the schema files of the checkpoint it was copied from. Hadoop's `.crc` of the old content must go.
    """
    file = logs.parse(path, data, operators.NEWEST)
    raw = logs.json_object(path, "\n".join(file.lines))
    stores: list[Any] = logs.field(path, raw, "stateStoreInfo", list)
    for store in stores:
        if not isinstance(store, dict):
            raise damage.malformed(path, "it names a store that is no object")
        places: list[Any] = logs.field(path, store, "stateSchemaFilePaths", list, [])
        store["stateSchemaFilePaths"] = [_moved(path, place, checkpoint_url) for place in places]
    return f"v{file.version}\n{json.dumps(raw, separators=(',', ':'), ensure_ascii=False)}".encode()


def schema_paths(path: str, data: bytes) -> tuple[str, ...]:
    """The schema files that the operator metadata `data` names, relative to the checkpoint; raises Corrupt, Unsupported."""
    raw = logs.json_object(path, "\n".join(logs.parse(path, relocated(path, data, ""), operators.NEWEST).lines))
    return tuple(place.removeprefix("/") for store in raw["stateStoreInfo"] for place in store["stateSchemaFilePaths"])


def _moved(path: str, place: Any, checkpoint_url: str) -> str:
    match = _SCHEMA_PATH.fullmatch(place) if isinstance(place, str) else None
    if match is None:
        raise damage.malformed(path, f"{str(place)[:80]!r} is no path of a state schema")
    return f"{checkpoint_url.rstrip('/')}/{match[1]}"
