"""Hard links of many files at once, from one folder of this machine into another."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pipelines.storage import copies, handover, parallel
from pipelines.storage.errors import translated, typed_errors
from pipelines.storage.protocol import Advance, Clone, unwatched

THREADS = 2
"""While one of them is in the kernel, the other one prepares its next link."""
AT_ONCE = 2048
"""Fewer links than that are made before a thread has started."""


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
    Raises NotFound, or Unavailable where the disk refuses more than the link."""
    if len(files) <= AT_ONCE:
        return _link(source, target, files, advance)
    halt = parallel.Halt()
    watched = advance if advance is unwatched else halt.watched(advance)
    parts = [files[start : start + AT_ONCE] for start in range(0, len(files), AT_ONCE)]
    return [done for part in parallel.each(lambda part: _link(source, target, part, watched), parts, THREADS, halt) for done in part]


def _link(source: str, target: str, files: Sequence[Clone], advance: Advance) -> list[bool]:
    linked: list[bool] = []
    inside, to = _Folder(source), _Folder(target)
    _make_folders(target, files)
    try:
        for file in files:
            try:
                linked.append(_linked(file, inside, to, source, target))
                if linked[-1] and advance is not unwatched:
                    advance(os.stat(f"{source}/{file.source}").st_size)
            except OSError as error:
                raise translated(error, file.target) from error
    finally:
        inside.close()
        to.close()
    return linked


def _linked(file: Clone, inside: _Folder, to: _Folder, source: str, target: str) -> bool:
    (old_folder, _, old), (new_folder, _, new) = file.source.rpartition("/"), file.target.rpartition("/")
    try:
        os.link(old, new, src_dir_fd=inside.at(old_folder), dst_dir_fd=to.at(new_folder), follow_symlinks=False)
    except FileExistsError:
        return copies.link_over(f"{source}/{file.source}", f"{target}/{file.target}")
    except OSError as error:
        if error.errno in copies.NO_LINK:
            return False
        raise
    handover.keep(f"{target}/{file.target}")
    return True


def _make_folders(target: str, files: Sequence[Clone]) -> None:
    with typed_errors(files[0].target if files else ""):
        for folder in sorted({file.target.rpartition("/")[0] for file in files}):
            make_folder(f"{target}/{folder}")


def make_folder(folder: str) -> None:
    """Makes a folder: one call where its parent exists, as when folders are made in order. A file in its place fails later writes."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        return
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
