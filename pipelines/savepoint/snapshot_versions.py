"""Snapshots of RocksDB in a restored copy, given the version that another Spark reads: what they hold is the same.

Spark 4.0 writes and reads version 2 in checkpoint format 2, later ones version 1 (RocksDBCheckpointMetadata; both were measured). Only the
first line of one member of the archive says so, beside which stand the names of the files that the snapshot needs.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipelines.checkpoint import damage, operators, state_files
from pipelines.checkpoint.state_files import Kind
from pipelines.domain.ids import folder_of
from pipelines.domain.savepoints import QueryImage


def give(images: Iterable[QueryImage], checkpoints: Path, version: int) -> int:
    """Gives each snapshot of format 2 in the copy below `checkpoints` of what `images` show that version; answers with how many had another
    one. No file is written into: those may be links."""
    homes = (checkpoints / folder_of(image.query) / operators.FOLDER for image in images if image.state_format > 1)
    return sum(_give(path, version) for home in homes for path in _snapshots(home))


def _snapshots(home: Path) -> Iterator[Path]:
    yield from (path for path in home.rglob(f"*.{Kind.ZIP}") if state_files.parse_path(path.name) is Kind.ZIP)


def _give(path: Path, version: int) -> bool:
    """Raises Corrupt for what is no snapshot."""
    first, aside = f"v{version}\n".encode(), path.with_name(f".{path.name}.anew")
    try:
        with zipfile.ZipFile(path) as held:
            version_line, _, rest = held.read(state_files.SNAPSHOT_METADATA).partition(b"\n")
            if version_line.strip() == first.strip():
                return False
            _write(held, aside, first + rest)
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise damage.malformed(str(path), f"it is no snapshot zip with metadata ({error})") from error
    os.replace(aside, path)
    for checksum in (f".{path.name}.crc", f"{path.name}.crc", f".{path.name}.crc.crc"):  # Hadoop's, Spark's, and Hadoop's of that
        path.with_name(checksum).unlink(missing_ok=True)
    return True


def _write(held: zipfile.ZipFile, aside: Path, metadata: bytes) -> None:
    with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as anew:
        for member in held.infolist():
            anew.writestr(member, metadata if member.filename == state_files.SNAPSHOT_METADATA else held.read(member))
