"""The checkpoints of a bench's fork at a home while their state is rewritten, as a fork there has them, and back on the disk then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.checkpoint import relocation
from pipelines.storage.addresses import open_storage


@contextmanager
def carried(checkpoints: Path, home: str) -> Iterator[str]:
    """Where they lie as long as the block lasts: below `home`, and there alone; where they are if that is empty."""
    if not home:
        yield str(checkpoints)
        return
    there = f"{home}/{checkpoints.name}"
    move(str(checkpoints), there)
    yield there
    move(there, str(checkpoints))


def move(source: str, target: str) -> None:
    """All files but the checksums of a disk, which a home does not have; those that name their place name the new one."""
    old, new = open_storage(source), open_storage(target)
    entries = list(old.list())
    for entry in entries:
        query, _, inner = entry.path.partition("/")
        name = inner.rpartition("/")[2]
        if not (name.startswith(".") and name.endswith(".crc")):
            data = old.read(entry.path)
            new.write(entry.path, relocation.relocated(inner, data, f"{target}/{query}") if relocation.names_its_place(inner) else data)
    old.delete(entry.path for entry in entries)
