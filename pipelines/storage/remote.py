"""Anything fsspec knows, by URL: S3, HDFS, GCS, Azure, memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO, cast

from pipelines.domain.errors import Invalid, Unsupported
from pipelines.storage import copying, paths
from pipelines.storage.protocol import Clone, Entry, How, Storage
from pipelines.storage.refusals import refusals

STREAMS = 8
WHOLE_PUT = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "wasbs", "adl", "oci", "oss"}
"""Schemes of object stores: an object appears whole when its upload ends, so no name aside is needed."""
MODIFIED_KEYS = ("mtime", "LastModified", "last_modified", "modified", "updated", "modificationTime", "created")
"""Where fsspec's file systems keep the time of the last write."""


class FsspecStorage:
    """`Storage` over an fsspec URL; the client library of its scheme must be installed."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._fs, root = _filesystem(url)
        self._root = root.rstrip("/")
        self._scheme = url.partition("://")[0]

    @property
    def url(self) -> str:
        return self._url

    def _at(self, path: str) -> str:
        return f"{self._root}/{paths.relative(path)}"

    def read(self, path: str) -> bytes:
        with refusals(path):
            return bytes(self._fs.cat_file(self._at(path)))

    def stream(self, path: str) -> BinaryIO:
        """`path` opened for reading, for files too large to hold."""
        with refusals(path):
            return cast(BinaryIO, self._fs.open(self._at(path), "rb"))

    def list(self, folder: str = "") -> Iterator[Entry]:
        top = self._at(folder) if folder else self._root
        for full, info in self._found(top, folder).items():
            path = full.rstrip("/")[len(self._root) :].lstrip("/")
            if path and full != top and not paths.is_temporary(path):
                yield Entry(path, int(info.get("size") or 0), _modified_ms(info))

    def _found(self, top: str, folder: str) -> dict[str, Any]:
        """Asks the storage itself: fsspec would answer a second time from its own memory."""
        with refusals(folder or self._url):
            self._fs.invalidate_cache()
            try:
                return cast(dict[str, Any], self._fs.find(top, detail=True))
            except FileNotFoundError:
                return {}

    def write(self, path: str, data: bytes) -> None:
        with refusals(path), self._published(path) as target:
            self._fs.pipe_file(target, data)

    @contextmanager
    def _published(self, path: str) -> Iterator[str]:
        """The place to write `path` at: itself in an object store, else a name aside that is moved at the end."""
        target = self._at(path)
        if self._scheme in WHOLE_PUT:
            yield target
            return
        aside = paths.temporary(target)
        self._fs.makedirs(paths.parent(target), exist_ok=True)
        try:
            yield aside
            if self._fs.exists(target):
                self._fs.rm_file(target)
            self._fs.mv(aside, target)
        finally:
            if self._fs.exists(aside):
                self._fs.rm_file(aside)

    def clone(self, source: Storage, files: Sequence[Clone]) -> Sequence[How]:
        with ThreadPoolExecutor(STREAMS) as pool:
            return list(pool.map(lambda file: self._clone(source, file), files))

    def _clone(self, source: Storage, file: Clone) -> How:
        if isinstance(source, FsspecStorage) and source._fs == self._fs:
            with refusals(file.source), self._published(file.target) as target:
                self._fs.cp_file(source._at(file.source), target)
            return How.SERVER_COPY
        with copying.opened(source, file.source) as stream, refusals(file.target), self._published(file.target) as target:
            self._upload(stream, target)
        return How.COPY

    def _upload(self, stream: BinaryIO, target: str) -> None:
        """An upload that breaks off is discarded: closing it would publish the half."""
        written = self._fs.open(target, "wb")
        try:
            copying.pour(stream, written)
        except BaseException:
            if hasattr(written, "discard"):
                written.discard()
            raise
        written.close()

    def delete(self, paths_: Iterable[str]) -> None:
        folders: set[str] = set()
        for path in paths_:
            with refusals(path):
                self._remove(self._at(path))
            folders.update(paths.ancestors(path))
        for folder in sorted(folders, key=lambda name: name.count("/"), reverse=True):
            with refusals(folder):
                self._remove_empty(self._at(folder))

    def _remove(self, full: str) -> None:
        try:
            self._fs.rm_file(full)
        except FileNotFoundError:
            return

    def _remove_empty(self, full: str) -> None:
        """Object stores have no folders: nothing is left to remove there."""
        if self._scheme in WHOLE_PUT:
            return
        try:
            if not self._fs.ls(full, detail=False):
                self._fs.rmdir(full)
        except FileNotFoundError:
            return

    def sweep(self, folder: str = "") -> int:
        """Deletes what interrupted writes left below `folder`; returns how many files. Only for a folder nobody writes to now."""
        top = self._at(folder) if folder else self._root
        left = [full for full in self._found(top, folder) if paths.is_temporary(full)]
        for full in left:
            with refusals(full):
                self._remove(full)
        return len(left)


def _filesystem(url: str) -> tuple[Any, str]:
    """fsspec's file system and root for `url`; raises Invalid for an unknown scheme, Unsupported where its library is absent."""
    from fsspec.core import url_to_fs

    scheme = url.partition("://")[0]
    with refusals(url):
        try:
            fs, root = url_to_fs(url)
        except ImportError as error:
            raise Unsupported("storage.no_client", f"{url}: {error}", f"Install fsspec's client for {scheme!r}.") from error
        except ValueError as error:
            hint = "Use a local path, or a URL whose scheme fsspec knows (s3://, hdfs://, gs://, abfs://)."
            raise Invalid("storage.scheme", f"{url}: {error}", hint) from error
    return fs, str(root)


def _modified_ms(info: dict[str, Any]) -> int:
    """The last write in milliseconds since the epoch; 0 where the storage does not say."""
    value = next((info[key] for key in MODIFIED_KEYS if info.get(key) is not None), 0)
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000)
    if isinstance(value, (int, float)):
        return int(value if value > 1e11 else value * 1000)
    return 0
