"""Operations on a whole folder: list, fill, flush to disk, rename, remove it.

A local folder uses the file system; any other storage works on its files one at a time.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Protocol, runtime_checkable

from pipelines.domain.errors import NotFound
from pipelines.storage import copies, parallel, paths, rights
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Clone, How, Storage
from pipelines.storage.rollback import rollback

THREADS = 8
FLUSHERS = 32
"""Threads that flush folders: each only waits for the disk, which answers all that wait at once."""
REMOVALS = 10
CHANGED = {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST}
"""Errors of removing a folder that somebody still writes into."""
SAME = {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}
"""Schemes that are other names of one storage."""
COPIED_HERE = {"hdfs", "webhdfs", "swebhdfs"}
"""Schemes of storages that copy nothing by themselves."""


@runtime_checkable
class Foldered(Protocol):
    """A storage that answers for its folders by itself, in fewer requests than by its files."""

    def children(self, folder: str = "") -> list[str]: ...

    def remove(self, folder: str) -> None: ...


@runtime_checkable
class Renames(Protocol):
    """A storage that gives a folder another name at once."""

    def rename(self, old: str, new: str) -> None: ...


@runtime_checkable
class Rooted(Protocol):
    """A storage that knows whether its folder was there before."""

    def require(self) -> None:
        """Raises Unavailable (`storage.vanished`) where it was there and is not any more."""
        ...


@runtime_checkable
class Sweeps(Protocol):
    """A storage that finds what its interrupted writes left."""

    def sweep(self, folder: str = "") -> int: ...


def sweep(storage: Storage, folder: str) -> int:
    """Deletes what interrupted writes left below `folder`, which nobody writes to now; returns how many files."""
    return storage.sweep(folder) if isinstance(storage, Sweeps) else 0


def local(storage: Storage) -> bool:
    """Whether `storage` is a folder of this machine."""
    return "://" not in storage.url


def children(storage: Storage, folder: str = "") -> list[str]:
    """Names of the folders directly in `folder`, sorted; none where it does not exist."""
    if isinstance(storage, Foldered):
        return storage.children(folder)
    if not local(storage):
        prefix = f"{folder}/" if folder else ""
        inner = (entry.path[len(prefix) :] for entry in storage.list(folder))
        return sorted({path.partition("/")[0] for path in inner if "/" in path})
    with typed_errors(folder or storage.url):
        try:
            return sorted(item.name for item in os.scandir(_at(storage, folder)) if item.is_dir(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return []


def put(storage: Storage, files: Mapping[str, bytes]) -> None:
    """Writes `files`, each whole or not at all, but not on disk before `flush`: for folders that are not published yet."""
    if not local(storage):
        parallel.each(lambda path: storage.write(path, files[path]), files, THREADS, alone_s=0)
        return
    _require(storage)
    for path, data in files.items():
        with typed_errors(path):
            _put(_at(storage, path), data)
    _require(storage)


def _put(target: str, data: bytes) -> None:
    aside = paths.temporary(target)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        with open(aside, "xb") as file:
            file.write(data)
        os.replace(aside, target)
    except OSError:
        if os.path.lexists(aside):
            os.unlink(aside)
        raise


def flush(storage: Storage, homes: Set[str], put_before: Iterable[str]) -> None:
    """Flushes what was `put` and the names in the folders `homes`, and in those above, to disk. Object stores do that by themselves.

    All at the same time: a journal then commits few times, whatever the number of files.
    """
    if not local(storage):
        return
    inner = homes | {folder for home in homes for folder in paths.ancestors(home)}
    _require(storage)
    folders = [*put_before, *inner, ""]
    parts = [folders[number::FLUSHERS] for number in range(min(FLUSHERS, len(folders)))]
    parallel.each(lambda part: _sync_all(storage, part), parts, FLUSHERS, alone_s=0)


def renames(storage: Storage) -> bool:
    """Whether `storage` gives a folder another name at once; elsewhere that is a copy of each file."""
    return local(storage) or isinstance(storage, Renames)


def rename(storage: Storage, old: str, new: str) -> None:
    """Folder `old` becomes `new`, which must not exist. At once on a local disk and in HDFS.

    Elsewhere file by file: those at the top of the folder first, so that a mark there tells of a rename that a kill broke off, and
    `old` is deleted when all of `new` is there. An error leaves nothing of `new`.
    """
    if local(storage):
        _require(storage)
        with typed_errors(new):
            os.rename(_at(storage, old), _at(storage, new))
            copies.sync_folder(_at(storage, paths.parent(new)))
        return
    if isinstance(storage, Renames):
        storage.rename(old, new)
        return
    with rollback(lambda: remove(storage, new), f"What was made of {new}"):
        _move(storage, old, new)


def _move(storage: Storage, old: str, new: str) -> None:
    files = list(storage.list(old))
    for is_top in (True, False):
        part = [entry for entry in files if (paths.parent(entry.path) == old) is is_top]
        list(storage.clone(storage, [Clone(entry.path, new + entry.path[len(old) :], entry.bytes) for entry in part]))
    storage.delete([entry.path for entry in files])


def make_shared(storage: Storage) -> None:
    """Makes the storage's own folder where it is a place of its user's: with the modes that the user's umask gives."""
    if local(storage):
        with typed_errors(storage.url):
            rights.make_folder(Path(storage.url))


def share(storage: Storage, path: str) -> None:
    """Gives `path`, a file or a folder with all that is in it, the modes that the user's umask gives. Object stores have none."""
    if local(storage):
        with typed_errors(path):
            rights.share(Path(_at(storage, path)))


def remove(storage: Storage, folder: str) -> None:
    """Deletes `folder` with everything below, unfinished writes too; one that is not there is no error."""
    if isinstance(storage, Foldered):
        storage.remove(folder)
        return
    if not local(storage):
        storage.delete([entry.path for entry in storage.list(folder)])
        return
    with typed_errors(folder):
        _remove_tree(_at(storage, folder))


def _remove_tree(folder: str) -> None:
    """Removes a folder; tries again where files come or go meanwhile (somebody's last write)."""
    for _ in range(REMOVALS):
        if not os.path.lexists(folder):
            return
        try:
            shutil.rmtree(folder)
        except OSError as error:
            if error.errno not in CHANGED:
                raise
    if os.path.lexists(folder):
        shutil.rmtree(folder)


def taken(storage: Storage, path: str) -> bool:
    """Whether a file, or a folder that is not empty, has this name."""
    if local(storage):
        full = _at(storage, path)
        with typed_errors(path):
            return bool(os.listdir(full)) if os.path.isdir(full) and not os.path.islink(full) else os.path.lexists(full)
    if next(iter(storage.list(path)), None) is not None:
        return True
    try:
        with copies.opened(storage, path):
            return True
    except NotFound:
        return False


def expected_how(source: Storage, target: Storage, path: str = "") -> How:
    """How files will be cloned from `source` to `target`, as far as can be said before it is done; `path` is one of them."""
    if local(source) and local(target):
        may_link = not path or not os.path.exists(file := _at(source, path)) or copies.may_link(file)
        return How.LINK if may_link and _device(source.url) == _device(target.url) else How.COPY
    scheme = _scheme(source)
    return How.SERVER_COPY if scheme == _scheme(target) and scheme not in COPIED_HERE else How.COPY


def _require(storage: Storage) -> None:
    if isinstance(storage, Rooted):
        storage.require()


def _scheme(storage: Storage) -> str:
    scheme = storage.url.partition("://")[0]
    return SAME.get(scheme, scheme)


def _at(storage: Storage, folder: str) -> str:
    return f"{storage.url}/{paths.relative(folder)}" if folder else storage.url


def _sync_all(storage: Storage, folders: Iterable[str]) -> None:
    for path in folders:
        with typed_errors(path or storage.url):
            copies.sync_folder(_at(storage, path))


def _device(path: str) -> int:
    """The file system of `path`, or of the nearest folder above that exists."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.stat(path).st_dev
