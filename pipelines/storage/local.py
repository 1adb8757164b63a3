"""A folder of this machine: hard links where it can, reflinks or copies where it cannot."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pipelines.domain.errors import NotFound, Unavailable
from pipelines.storage import copies, file_objects, links, parallel, paths
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, unwatched

COPY_THREADS = 8


class LocalStorage:
    """`Storage` over a folder, which need not exist until something is written."""

    def __init__(self, root: str | Path) -> None:
        self._root = os.path.abspath(root)
        self._was_there = _there(self._root)

    @property
    def url(self) -> str:
        return self._root

    def _at(self, path: str) -> str:
        return f"{self._root}/{paths.relative(path)}"

    def require(self) -> None:
        """Raises Unavailable (`storage.vanished`) where the folder was there and is not any more: writing would make another one."""
        there = _there(self._root)
        if self._was_there and not there:
            raise Unavailable(
                "storage.vanished",
                f"{self._root} was there and is gone",
                "Mount it or move it back, then try again; if it is lost, make an empty folder of that name.",
            )
        self._was_there = there

    @contextmanager
    def _required(self) -> Iterator[None]:
        """Raises Unavailable instead of NotFound where the whole storage is gone, and not only the file."""
        try:
            yield
        except NotFound:
            self.require()
            raise

    def _make_folders(self, folders: Iterable[str]) -> None:
        self.require()
        for folder in sorted(folders):
            links.make_folder(folder)
        self.require()

    def read(self, path: str) -> bytes:
        with self.stream(path) as file:
            return file.read()

    def stream(self, path: str) -> BinaryIO:
        """`path` opened for reading, for files too large to hold."""
        full = self._at(path)
        with self._required():
            return file_objects.opened(full, "rb", full)

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        """A file that becomes `path`, whole and on disk, when the block ends well; nothing is left of it when the block raises."""
        target = self._at(path)
        with typed_errors(target):
            self._make_folders([os.path.dirname(target)])
        with self._required(), copies.published(target) as file:
            yield file
        with self._required(), typed_errors(target):
            copies.sync_folder(os.path.dirname(target))

    def list(self, folder: str = "") -> Iterator[Entry]:
        for _, entries in self.by_folder(folder):
            yield from entries.values()

    def by_folder(self, folder: str = "") -> Iterator[tuple[str, dict[str, Entry]]]:
        top = self._at(folder) if folder else self._root
        self.require()
        with typed_errors(folder or self._root):
            yield from _walk(top, folder)

    def write(self, path: str, data: bytes) -> None:
        with self.writing(path) as file:
            file.write(data)

    def write_new(self, path: str, data: bytes, like: str) -> bool:
        """Writes a file, whole or not at all, whoever writes there too: False where something of that name is there already. Who may read
        the file `like` may read it."""
        target = self._at(path)
        with self._required():
            return copies.write_new(target, data, self._at(like))

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Sequence[How]:
        targets = paths.all_relative([file.target for file in files])
        if isinstance(source, LocalStorage):
            paths.all_relative([file.source for file in files])
            return self._clone_local(source, files, advance)
        with typed_errors(self._root):
            self._make_folders({f"{self._root}/{paths.parent(target)}" for target in targets})
        with self._required():
            halt = parallel.Halt()
            watched = halt.watched(advance)
            return parallel.each(lambda file: self._fetch(source, file, watched), files, COPY_THREADS, halt)

    def _clone_local(self, source: LocalStorage, files: Sequence[Clone], advance: Advance) -> Sequence[How]:
        """Links what can be linked, which is only names; then copies the rest in parallel."""
        with self._required():
            self.require()
            linked = links.link(source._root, self._root, files, advance)
            self.require()
            rest = [file for file, done in zip(files, linked, strict=True) if not done]
            halt = parallel.Halt()
            watched = halt.watched(advance)
            copied = iter(parallel.each(lambda file: self._copy(source, file, watched), rest, COPY_THREADS, halt) if rest else ())
            link = How.LINK
            return [link if done else next(copied) for done in linked]

    def _copy(self, source: LocalStorage, file: Clone, advance: Advance) -> How:
        return copies.copy(f"{source._root}/{file.source}", f"{self._root}/{file.target}", advance)

    def _fetch(self, source: Storage, file: Clone, advance: Advance) -> How:
        with copies.opened(source, file.source) as stream, copies.published(self._at(file.target)) as written:
            copies.pour(stream, written, advance)
        return How.COPY

    def delete(self, paths_: Iterable[str]) -> None:
        folders: set[str] = set()
        for path in paths_:
            with typed_errors(path):
                _unlink(self._at(path))
            folders.update(paths.ancestors(path))
        self._prune(folders)

    def sweep(self, folder: str = "") -> int:
        """Deletes what interrupted writes left below `folder`; returns how many files. Only for a folder nobody writes to now."""
        top = self._at(folder) if folder else self._root
        left = [f"{place}/{name}" for place, _, names in os.walk(top) for name in names if paths.is_temporary(name)]
        for path in left:
            with typed_errors(path):
                _unlink(path)
        return len(left)

    def _prune(self, folders: set[str]) -> None:
        for folder in sorted(folders, key=lambda path: path.count("/"), reverse=True):
            with typed_errors(folder):
                _remove_empty(self._at(folder))


def _there(folder: str) -> bool:
    """Whether the folder exists; True where this user may not look, so that the next step raises its own error."""
    try:
        os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _walk(top: str, inner: str) -> Iterator[tuple[str, dict[str, Entry]]]:
    """Folder by folder, one `stat` a file, by its name in the open folder; what vanishes meanwhile is left out."""
    waiting = [(top, inner)]
    while waiting:
        folder, inner = waiting.pop()
        prefix = f"{inner}/" if inner else ""
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            continue
        entries: dict[str, Entry] = {}
        try:
            with os.scandir(descriptor) as scan:
                for item in scan:
                    name = item.name
                    if item.is_dir():
                        waiting.append((f"{folder}/{name}", prefix + name))
                    elif not name.startswith(paths.TEMPORARY_PREFIX):
                        try:
                            seen = item.stat()
                        except FileNotFoundError:
                            continue
                        entries[name] = Entry(prefix + name, seen.st_size, seen.st_mtime_ns // 1_000_000, "", seen.st_ino)
        finally:
            os.close(descriptor)
        yield inner, entries


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
