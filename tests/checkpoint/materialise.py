"""A closure made into a checkpoint of its own, as a savepoint's restore does it."""

from __future__ import annotations

from pipelines.checkpoint import relocation, sink_log
from pipelines.checkpoint.closure import Closure
from pipelines.storage import paths
from pipelines.storage.protocol import Clone, Storage


def materialise(closure: Closure, source: Storage, target: Storage) -> None:
    moved = set(closure.relocate)
    dropped = moved | {paths.join(paths.parent(path), f".{paths.name(path)}.crc") for path in moved}
    files = [entry.path for entry in closure.clone if entry.path not in dropped]
    target.clone(source, [Clone(path, path) for path in files])
    for path in moved:
        target.write(path, relocation.relocated(path, source.read(path), target.url))
    for path, data in closure.write.items():
        target.write(path, data)


def carry_sink_log(source: Storage, target: Storage, batch: int) -> None:
    for name, data in sink_log.cut(sink_log.read(source, batch), batch).items():
        target.write(name, data)
