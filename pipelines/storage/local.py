"""A folder of this machine: hard links where it can, reflinks or copies where it cannot."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from pipelines.storage import copying, paths
from pipelines.storage.protocol import Clone, Entry, How, Storage
from pipelines.storage.refusals import refusals

COPY_THREADS = 4


class LocalStorage:
    """`Storage` over a folder, which need not exist until something is written."""

    def __init__(self, root: str | Path) -> None:
        self._root = os.path.abspath(root)

    @property
    def url(self) -> str:
        return self._root

    def _at(self, path: str) -> str:
        return f"{self._root}/{paths.relative(path)}"

    def read(self, path: str) -> bytes:
        with self.stream(path) as file, refusals(path):
            return file.read()

    def stream(self, path: str) -> BinaryIO:
        """`path` opened for reading, for files too large to hold."""
        with refusals(path):
            return open(self._at(path), "rb")

    def list(self, folder: str = "") -> Iterator[Entry]:
        top = self._at(folder) if folder else self._root
        with refusals(folder or self._root):
            yield from _walk(top, f"{folder}/" if folder else "")

    def write(self, path: str, data: bytes) -> None:
        target = self._at(path)
        with refusals(path):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with copying.published(target) as file:
                file.write(data)
            copying.sync_folder(os.path.dirname(target))

    def clone(self, source: Storage, files: Sequence[Clone]) -> Sequence[How]:
        targets = [self._at(file.target) for file in files]
        with refusals(self._root):
            for folder in {target.rpartition("/")[0] for target in targets}:
                os.makedirs(folder, exist_ok=True)
        if isinstance(source, LocalStorage):
            return self._clone_local(source, files, targets)
        with ThreadPoolExecutor(COPY_THREADS) as pool:
            return list(pool.map(lambda file: self._fetch(source, file), files))

    def _clone_local(self, source: LocalStorage, files: Sequence[Clone], targets: Sequence[str]) -> Sequence[How]:
        with refusals(self._root):
            origins = [source._at(file.source) for file in files]
            return [copying.linked_or_copied(origin, target) for origin, target in zip(origins, targets, strict=True)]

    def _fetch(self, source: Storage, file: Clone) -> How:
        target = self._at(file.target)
        with copying.opened(source, file.source) as stream, refusals(file.target), copying.published(target) as written:
            copying.pour(stream, written)
        return How.COPY

    def delete(self, paths_: Iterable[str]) -> None:
        folders: set[str] = set()
        for path in paths_:
            with refusals(path):
                _unlink(self._at(path))
            folders.update(paths.ancestors(path))
        self._prune(folders)

    def sweep(self, folder: str = "") -> int:
        """Deletes what interrupted writes left below `folder`; returns how many files. Only for a folder nobody writes to now."""
        top = self._at(folder) if folder else self._root
        left = [f"{place}/{name}" for place, _, names in os.walk(top) for name in names if paths.is_temporary(name)]
        for path in left:
            with refusals(path):
                _unlink(path)
        return len(left)

    def _prune(self, folders: set[str]) -> None:
        for folder in sorted(folders, key=lambda path: path.count("/"), reverse=True):
            with refusals(folder):
                _remove_empty(self._at(folder))


def _walk(top: str, prefix: str) -> Iterator[Entry]:
    """Folder by folder with `scandir`, one `stat` a file; what vanishes meanwhile is left out."""
    waiting = [(top, prefix)]
    while waiting:
        folder, inner = waiting.pop()
        try:
            scan = os.scandir(folder)
        except (FileNotFoundError, NotADirectoryError):
            continue
        with scan:
            for item in scan:
                if item.is_dir():
                    waiting.append((item.path, f"{inner}{item.name}/"))
                elif not item.name.startswith(paths.TEMPORARY_PREFIX) and (entry := _entry(item, inner)) is not None:
                    yield entry


def _entry(item: os.DirEntry[str], prefix: str) -> Entry | None:
    try:
        stat = item.stat()
    except FileNotFoundError:
        return None
    return Entry(prefix + item.name, stat.st_size, stat.st_mtime_ns // 1_000_000)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return


def _remove_empty(folder: str) -> None:
    """Asks first: a folder that is not empty is the usual case, and each file system refuses it with an error of its own."""
    try:
        with os.scandir(folder) as scan:
            empty = next(scan, None) is None
        if empty:
            os.rmdir(folder)
    except FileNotFoundError:
        return
