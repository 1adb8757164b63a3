"""Files of storages elsewhere for whoever reads by fsspec and by URL (DuckDB): piece by piece, with the clients of our own storages."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from fsspec.spec import AbstractFileSystem

from pipelines.storage.addresses import STORE_ADDRESSES, open_storage
from pipelines.storage.copies import Streams
from pipelines.storage.protocol import Storage

BRACKETED = re.compile(r"\[([*?\[])\]")
NAME = "s3"
"""Under which DuckDB keeps the file system: the first of its protocols."""


def sizes(urls: Iterable[str]) -> Mapping[str, int]:
    """Bytes of those of the files that are there, by URL, and of whatever else is below the folder that all of them are in; listed once."""
    folders = [url.rpartition("/")[0] for url in urls]
    return {f"{root}/{entry.path}": entry.bytes for root in _roots(folders) for entry in open_storage(root).list()}


def _roots(folders: Iterable[str]) -> list[str]:
    """The folder that all of one server or bucket are in, of each."""
    by_server: dict[str, list[str]] = {}
    for folder in folders:
        by_server.setdefault(_server(folder), []).append(folder[len(_server(folder)) :] or "/")
    return [f"{server}{os.path.commonpath(paths)}".rstrip("/") for server, paths in by_server.items()]


def _server(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class QueriedFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Files by their URLs, to be read, which somebody has seen there. Opening one raises what its storage does."""

    protocol = tuple(address.removesuffix("://") for address in STORE_ADDRESSES)
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self._storages: dict[str, Storage] = {}
        self._sizes: dict[str, int] = {}

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def glob(self, pattern: str, **_: Any) -> list[str]:
        """The one file that a pattern means: every special character in it is in brackets."""
        return [BRACKETED.sub(r"\1", pattern)]

    def modified(self, path: str) -> datetime:
        """Long ago: what a query reads is written once."""
        return datetime.fromtimestamp(0, UTC)

    def size(self, path: str) -> int:
        """Of one that was opened."""
        return self._sizes[path]

    def open(self, path: str, mode: str = "rb", **_: Any) -> BinaryIO:
        server = _server(path)
        if server not in self._storages:
            self._storages[server] = open_storage(server)
        storage, name = self._storages[server], path[len(server) + 1 :]
        stream = storage.stream(name) if isinstance(storage, Streams) else io.BytesIO(storage.read(name))
        self._sizes[path] = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        return stream
