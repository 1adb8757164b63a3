"""Snapshots of RocksDB in a restored copy, given the version that another Spark reads: what they hold is the same.

Spark 4.0 writes and reads version 2 in checkpoint format 2, later ones version 1 (RocksDBCheckpointMetadata; both were measured). Only the
first line of one member of the archive says so, beside which stand the names of the files that the snapshot needs.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator

from pipelines.checkpoint import damage, operators, state_files
from pipelines.checkpoint.state_files import Kind
from pipelines.domain.ids import folder_of
from pipelines.domain.savepoints import QueryImage
from pipelines.storage.protocol import Storage


def give(images: Iterable[QueryImage], checkpoints: Storage, version: int) -> int:
    """Gives each snapshot of format 2 in the copy `checkpoints` of what `images` show that version; answers with how many had another one.
    No file is written into: those may be links. Raises Corrupt for what is no snapshot."""
    homes = (f"{folder_of(image.query)}/{operators.FOLDER}" for image in images if image.state_format > 1)
    return sum(_give(checkpoints, path, version) for home in homes for path in list(_snapshots(checkpoints, home)))


def _snapshots(checkpoints: Storage, home: str) -> Iterator[str]:
    yield from (entry.path for entry in checkpoints.list(home) if state_files.parse_path(entry.path) is Kind.ZIP)


def _give(checkpoints: Storage, path: str, version: int) -> bool:
    first = f"v{version}\n".encode()
    try:
        with zipfile.ZipFile(io.BytesIO(checkpoints.read(path))) as held:
            version_line, _, rest = held.read(state_files.SNAPSHOT_METADATA).partition(b"\n")
            if version_line.strip() == first.strip():
                return False
            anew = _anew(held, first + rest)
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise damage.malformed(path, f"it is no snapshot zip with metadata ({error})") from error
    checkpoints.write(path, anew)
    folder, _, name = path.rpartition("/")
    checksums = (f".{name}.crc", f"{name}.crc", f".{name}.crc.crc")  # Hadoop's, Spark's, and Hadoop's of that
    checkpoints.delete(f"{folder}/{checksum}" for checksum in checksums)
    return True


def _anew(held: zipfile.ZipFile, metadata: bytes) -> bytes:
    """The archive with other metadata: it has small files alone, as tables lie beside it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as anew:
        for member in held.infolist():
            anew.writestr(member, metadata if member.filename == state_files.SNAPSHOT_METADATA else held.read(member))
    return data.getvalue()
