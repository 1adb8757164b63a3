"""The newest metadata of an Iceberg table of a Hadoop catalog, or in a folder (`<table>/metadata/vN.metadata.json`, Iceberg's
`HadoopTableOperations`): each is written once, under the next number."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping
from typing import Any

from pipelines.checkpoint import damage, logs
from pipelines.domain import iceberg
from pipelines.domain.errors import Unsupported
from pipelines.domain.iceberg import Table
from pipelines.storage import paths
from pipelines.storage.protocol import Storage

FOLDER = "metadata"
_VERSION = re.compile(r"v(\d{1,18})(\.gz)?\.metadata\.json(\.gz)?")
_OF_A_CATALOG = re.compile(r"\d+-[0-9a-f-]{36}(\.gz)?\.metadata\.json(\.gz)?")


def newest(storage: Storage) -> str | None:
    """The path of the newest metadata below the table's folder; None where no table is there. Raises Unsupported
    (`iceberg.catalog`) for a table of another catalog, which alone knows its newest."""
    names = [paths.name(entry.path) for entry in storage.list(FOLDER)]
    versions = {int(match[1]): name for name in names if (match := _VERSION.fullmatch(name))}
    if not versions and any(map(_OF_A_CATALOG.fullmatch, names)):
        message = "Its catalog alone knows the newest state of the Iceberg table: Tidemark reads those of a Hadoop catalog"
        raise Unsupported("iceberg.catalog", message, "Give a fork another table in its arguments.")
    return paths.join(FOLDER, versions[max(versions)]) if versions else None


def read(storage: Storage) -> Table | None:
    """The table as its newest metadata says it; None where there is none. Raises Corrupt for a damaged file, Unsupported as `newest`."""
    path = newest(storage)
    return table(path, content(storage, path)) if path is not None else None


def table(path: str, raw: Mapping[str, Any]) -> Table:
    """The table of a metadata file. Raises Corrupt where it is none."""
    try:
        return iceberg.table_of(raw)
    except ValueError as error:
        raise damage.malformed(path, str(error)) from error


def content(storage: Storage, path: str) -> dict[str, Any]:
    """What a metadata file says. Raises Corrupt for a damaged one."""
    data = storage.read(path)
    try:
        text = gzip.decompress(data) if _is_packed(path) else data
    except (EOFError, OSError, zlib.error) as error:
        raise damage.malformed(path, str(error)) from error
    return logs.json_object(path, logs.decoded(path, text))


def following(path: str) -> str:
    """Where the metadata is written that comes after that of `path`."""
    number, _, rest = paths.name(path).removeprefix("v").partition(".")
    return paths.join(FOLDER, f"v{int(number) + 1}.{rest}")


def packed(path: str, text: bytes) -> bytes:
    """The bytes of a metadata file that is called so."""
    return gzip.compress(text) if _is_packed(path) else text


def _is_packed(path: str) -> bool:
    return ".gz" in paths.name(path)
