"""Offsets of a restored copy for code whose sources have other places or names, come, or go. Rows of new sources come with the next batch.

Measured with Spark 4.3.0: a source without an offset begins where its options say; one that has another place or name goes on once its
offset and its folder stand there, also from places to names and back, which Spark itself refuses.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pipelines.checkpoint import closure, offsets

ASIDE = ".tidemark-"
"""What begins the name of what is being written."""


def place(checkpoint: str, pairs: Mapping[str, str | None], *, by_name: bool) -> None:
    """Gives the sources of a copy of a checkpoint other places: `pairs` has what each is called in the new code -> in the savepoint, None
    for one that begins, in the order of the new code. Its files may be links to those of a savepoint: none is written in place.

    Raises Corrupt, Unsupported for entries that cannot be read."""
    folder = Path(checkpoint)
    for entry in [path for path in (folder / offsets.FOLDER).iterdir() if path.name.isdecimal()]:
        _replace(entry, offsets.with_sources(int(entry.name), entry.read_bytes(), pairs, by_name=by_name))
    was, sources = folder / f"{ASIDE}{closure.SOURCES}", folder / closure.SOURCES
    if not sources.is_dir():
        return
    sources.rename(was)
    sources.mkdir()
    for source, old in pairs.items():
        if old is not None and (was / old).is_dir():
            (was / old).rename(sources / source)
    shutil.rmtree(was)


def _replace(path: Path, data: bytes) -> None:
    aside = path.with_name(f"{ASIDE}{path.name}")
    aside.write_bytes(data)
    os.replace(aside, path)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
