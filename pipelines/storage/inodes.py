"""Inodes of a folder: two names can be one file, and then deleting one of them frees nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from pipelines.storage import folders, paths
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Storage


@dataclass(frozen=True, slots=True)
class Inode:
    """One file as the disk has it: `id` is the same for all its names (device and inode), `links` is how many names it has anywhere.

    Reflinks cannot be told apart from copies: each looks like a file of its own, though it shares its blocks.
    """

    id: tuple[int, int] | str
    links: int = field(compare=False)
    bytes: int = field(compare=False)


def inodes(storage: Storage, folder: str) -> Iterator[Inode]:
    """An inode for each name below `folder`, unfinished writes too; on a storage without hard links each file is its own."""
    if folders.local(storage):
        with typed_errors(folder):
            yield from _walk(f"{storage.url}/{paths.relative(folder)}")
    else:
        for entry in storage.list(folder):
            yield Inode(entry.path, 1, entry.bytes)


def sizes(storage: Storage, folder: str, names: Iterable[str]) -> dict[str, int]:
    """The bytes of those of these files below `folder` of this machine that are there, by path."""
    bytes_by_path: dict[str, int] = {}
    for name in names:
        with typed_errors(name), suppress(FileNotFoundError):
            bytes_by_path[name] = os.stat(f"{storage.url}/{paths.relative(folder)}/{paths.relative(name)}").st_size
    return bytes_by_path


def _walk(top: str) -> Iterator[Inode]:
    waiting = [top]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as scan:
                for item in scan:
                    if item.is_dir(follow_symlinks=False):
                        waiting.append(item.path)
                    else:
                        yield from _node(item)
        except FileNotFoundError:
            continue


def _node(item: os.DirEntry[str]) -> Iterator[Inode]:
    """The inode of a file, None for one that has gone meanwhile."""
    try:
        seen = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    yield Inode((seen.st_dev, seen.st_ino), seen.st_nlink, seen.st_size)
