"""What is done with a whole folder: list who is in it, fill it, get it on disk, rename it, remove it, ask what deleting from it frees.

A local folder answers by the file system; any other storage by its files one at a time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pipelines.storage import copying, paths
from pipelines.storage.protocol import Clone, Entry, How, Storage
from pipelines.storage.refusals import refusals

THREADS = 8


def local(storage: Storage) -> bool:
    """Whether `storage` is a folder of this machine."""
    return "://" not in storage.url


def children(storage: Storage, folder: str = "") -> list[str]:
    """Names of the folders directly in `folder`, sorted; none where it does not exist."""
    if not local(storage):
        prefix = f"{folder}/" if folder else ""
        inner = (entry.path[len(prefix) :] for entry in storage.list(folder))
        return sorted({path.partition("/")[0] for path in inner if "/" in path})
    with refusals(folder or storage.url):
        try:
            return sorted(item.name for item in os.scandir(_at(storage, folder)) if item.is_dir(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return []


def put(storage: Storage, files: Mapping[str, bytes]) -> None:
    """Writes `files`, each whole or not at all, but not on disk before `flush`: for folders that are not published yet."""
    if not local(storage):
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda path: storage.write(path, files[path]), files))
        return
    for path, data in files.items():
        with refusals(path):
            target, aside = _at(storage, path), _at(storage, paths.temporary(path))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(aside, "xb") as file:
                file.write(data)
            os.replace(aside, target)


def flush(storage: Storage, files: Iterable[str], put_before: Iterable[str]) -> None:
    """What was `put` and the names of all `files` are on disk. Object stores promise that by themselves.

    All at the same time: a journal then commits few times, whatever the number of files.
    """
    if not local(storage):
        return
    homes = {paths.parent(path) for path in files}
    inner = homes | {folder for home in homes for folder in paths.ancestors(home)}
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda path: _sync(storage, path), (*put_before, *inner, "")))


def rename(storage: Storage, old: str, new: str) -> None:
    """Folder `old` becomes `new`, which must not exist. At once on a local disk; elsewhere file by file, the last one by name last."""
    if local(storage):
        with refusals(new):
            os.rename(_at(storage, old), _at(storage, new))
            copying.sync_folder(_at(storage, paths.parent(new)))
        return
    found = sorted(entry.path for entry in storage.list(old))
    list(storage.clone(storage, [Clone(path, new + path[len(old) :]) for path in found]))
    storage.delete(found)


def remove(storage: Storage, folder: str) -> None:
    """Deletes `folder` with everything below, unfinished writes too; one that is not there is no error."""
    if not local(storage):
        storage.delete([entry.path for entry in storage.list(folder)])
        return
    with refusals(folder):
        try:
            shutil.rmtree(_at(storage, folder))
        except FileNotFoundError:
            return


def unshared_bytes(storage: Storage, entries: Sequence[Entry]) -> int:
    """Bytes that deleting `entries` frees: on a local disk those of files without another hard link."""
    if not local(storage):
        return sum(entry.bytes for entry in entries)
    with ThreadPoolExecutor(THREADS) as pool:
        alone = pool.map(lambda entry: _links(_at(storage, entry.path)) == 1, entries)
        return sum(entry.bytes for entry, only in zip(entries, alone, strict=True) if only)


def expected_how(source: Storage, target: Storage) -> How:
    """How files will be cloned from `source` to `target`, as far as can be said before it is done."""
    if local(source) and local(target):
        return How.LINK if _device(source.url) == _device(target.url) else How.COPY
    return How.SERVER_COPY if source.url.partition("://")[0] == target.url.partition("://")[0] else How.COPY


def _at(storage: Storage, folder: str) -> str:
    return f"{storage.url}/{paths.relative(folder)}" if folder else storage.url


def _sync(storage: Storage, path: str) -> None:
    with refusals(path or storage.url):
        copying.sync_folder(_at(storage, path))


def _links(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_nlink
    except FileNotFoundError:
        return 0


def _device(path: str) -> int:
    """The file system of `path`, or of the nearest folder above that exists."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.stat(path).st_dev
