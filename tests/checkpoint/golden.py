"""The checkpoints that real Spark wrote, and copies of them in memory to damage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pipelines.domain.errors import NotFound
from pipelines.storage import paths
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, unwatched

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = sorted(path.parent.name for path in GOLDEN.glob("*/checkpoint"))
STATEFUL = [name for name in NAMES if name not in ("stateless", "rate")]
ROCKSDB = [name for name in STATEFUL if name not in ("hdfs", "hdfs_purged", "limit")]


def checkpoint(name: str) -> LocalStorage:
    return LocalStorage(GOLDEN / name / "checkpoint")


def sink(name: str) -> LocalStorage:
    return LocalStorage(GOLDEN / name / "sink_log")


class MemoryStorage:
    """A whole storage in a dict, which counts what it is asked."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = dict(files)
        self.lists = 0
        self.reads = 0

    @property
    def url(self) -> str:
        return "memory:checkpoint"

    def read(self, path: str) -> bytes:
        self.reads += 1
        if path not in self.files:
            raise NotFound("storage.not_found", path, "It is gone.")
        return self.files[path]

    def list(self, folder: str = "") -> Iterator[Entry]:
        self.lists += 1
        prefix = f"{folder}/" if folder else ""
        yield from (Entry(path, len(data), 0) for path, data in self.files.items() if path.startswith(prefix))

    def write(self, path: str, data: bytes) -> None:
        self.files[paths.relative(path)] = data

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> list[How]:
        for file in files:
            self.files[file.target] = source.read(file.source)
            advance(len(self.files[file.target]))
        return [How.COPY] * len(files)

    def delete(self, paths_: Iterable[str]) -> None:
        for path in paths_:
            self.files.pop(path, None)


def in_memory(storage: Storage) -> MemoryStorage:
    return MemoryStorage({entry.path: storage.read(entry.path) for entry in storage.list()})
