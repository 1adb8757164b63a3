"""Hard links of many files at once, from one folder of this machine into another."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.storage import copies, handover, users
from pipelines.storage.errors import translated, typed_errors
from pipelines.storage.protocol import Advance, Clone, unwatched


class _Folder:
    """The folder below `root` that was asked for last, kept open: the kernel then looks up one name for each file in it, and not a path."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._path: str | None = None
        self._descriptor = -1

    def at(self, path: str) -> int:
        """Its descriptor, for the system calls that take one; raises OSError like they do of the path."""
        if path != self._path:
            self.close()
            self._descriptor = os.open(f"{self._root}/{path}", os.O_PATH | os.O_DIRECTORY)
            self._path = path
        return self._descriptor

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._path, self._descriptor = None, -1


def link(source: str, target: str, files: Sequence[Clone], advance: Advance = unwatched) -> list[bool]:
    """For each of `files`, from the folder `source` into the folder `target`, whether it was linked; folders that they need are made.
    In one thread: more of them pass the interpreter's lock around, and take longer.

    Raises NotFound, also where a file is not the one that was listed any more; Unavailable where the disk refuses more than the link.
    """
    by_folder: dict[str, list[int]] = defaultdict(list)
    for number, file in enumerate(files):
        by_folder[file.target.rpartition("/")[0]].append(number)
    linked = [False] * len(files)
    inside, to = _Folder(source), _Folder(target)
    try:
        for folder in sorted(by_folder):
            numbers = by_folder[folder]
            with typed_errors(files[numbers[0]].target):
                make_folder(f"{target}/{folder}")
            for number in numbers:
                file = files[number]
                try:
                    linked[number] = _linked(file, inside, to.at(folder), source, target)
                    if linked[number] and advance is not unwatched:
                        advance(os.stat(f"{source}/{file.source}").st_size)
                except OSError as error:
                    raise _about(file, source, target, error) from error
            _refuse_others(f"{target}/{folder}", [files[number] for number in numbers if linked[number] and files[number].inode])
    finally:
        inside.close()
        to.close()
    return linked


def _about(file: Clone, source: str, target: str, error: OSError) -> TidemarkError:
    """The typed error, which names the whole path: the system was given names in open folders."""
    path = f"{source}/{file.source}" if isinstance(error, FileNotFoundError) else f"{target}/{file.target}"
    return translated(OSError(error.errno, error.strerror, path), path)


def _linked(file: Clone, inside: _Folder, new_folder: int, source: str, target: str) -> bool:
    (old_folder, _, old), new = file.source.rpartition("/"), file.target.rpartition("/")[2]
    try:
        os.link(old, new, src_dir_fd=inside.at(old_folder), dst_dir_fd=new_folder, follow_symlinks=False)
    except FileExistsError:
        return copies.link_over(f"{source}/{file.source}", f"{target}/{file.target}")
    except OSError as error:
        if error.errno in copies.NO_LINK:
            return False
        raise
    if users.other() is not None:
        handover.keep(f"{target}/{file.target}")
    return True


def _refuse_others(folder: str, files: Sequence[Clone]) -> None:
    """Raises NotFound for one of the `files` linked into `folder` that is another file than was listed: it was replaced in between.

    A name of the inode that was listed is that very file, with its size. A file system that is made of others (overlayfs) may give a file
    another number than its folder does: such a file is asked for its size.
    """
    if not files:
        return
    with typed_errors(files[0].target), os.scandir(folder) as scan:
        inodes = {item.name: item.inode() for item in scan}
    for file in files:
        name = file.target.rpartition("/")[2]
        if inodes.get(name) == file.inode:
            continue
        with typed_errors(file.target):
            size = os.stat(f"{folder}/{name}").st_size
        if size != file.bytes:
            message = f"{file.target} changed while it was linked: it has {size} bytes, and had {file.bytes}"
            raise NotFound("storage.not_found", message, "Try again.")


def make_folder(folder: str) -> None:
    """Makes a folder: one call where its parent exists, as when folders are made in order. A file in its place fails later writes."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        return
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
