"""Exports and imports of a golden job's savepoint, as tests ask for them: each form at each kind of place."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import Savepoint
from pipelines.savepoint import exports, imports
from pipelines.savepoint.addresses import Open, address
from pipelines.savepoint.exports import Target
from pipelines.storage.addresses import open_storage
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Storage
from tests.savepoint.golden import NOW_MS, Bench

SP = SavepointId("sp-1")
LATER_MS = NOW_MS + 1000
FORMS = {"directory": "out/copy", "archive": "out/copy.tar.zst"}


@dataclass
class Seen:
    """A watch that remembers the steps; `at` does something at the n-th piece."""

    at: Callable[[int], None] = lambda _: None
    steps: list[tuple[str, int]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    pieces: int = 0

    def step(self, step: str, total: int = 0) -> None:
        self.steps.append((step, total))
        self.done.append(0)

    def advance(self, done: int) -> None:
        self.pieces += 1
        self.done[-1] += done
        self.at(self.pieces)


def shelf(folder: Path) -> LocalStorage:
    """Another workspace's savepoints."""
    return LocalStorage(folder / "elsewhere")


def target(url: str, as_archive: bool | None = None, open_at: Open = open_storage) -> Target:
    return exports.target(address(url, open_at), as_archive, "o-1")


def export(bench: Bench, url: str, *, library: Storage | None = None, read_back: bool = False, open_at: Open = open_storage) -> None:
    exports.export(library or bench.library, SP, target(url, None, open_at), NOW_MS, read_back=read_back, open_at=open_at)


def bring(url: str, into: Storage, open_at: Open = open_storage) -> Savepoint:
    return imports.bring(url, into, LATER_MS, open_at=open_at)


def members(archive: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """What is in an archive, read by nothing of ours."""
    plain = zstandard.ZstdDecompressor().stream_reader(archive.read_bytes()).readall()
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        return [(info, file.read() if (file := tar.extractfile(info)) else b"") for info in tar]


def packed(path: Path, contents: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """An archive of these members, whatever they are."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for info, data in contents:
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
