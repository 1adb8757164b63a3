"""Anything fsspec knows, by URL: GCS, Azure, SFTP, memory (S3 and HDFS have their own: `s3`, `hdfs`)."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO

from pipelines.domain.errors import Invalid, Unsupported
from pipelines.storage import copies, file_objects, parallel, paths
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, origin, unwatched

STREAMS = 8
WHOLE_PUT = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "wasbs", "adl", "oci", "oss"}
"""Schemes of object stores: an object appears whole when its upload ends, so no name aside is needed."""
MODIFIED_KEYS = ("mtime", "LastModified", "last_modified", "modified", "updated", "modificationTime", "created")
"""Where fsspec's file systems keep the time of the last write."""


class FsspecStorage:
    """`Storage` over an fsspec URL; the client library of its scheme must be installed."""

    def __init__(self, url: str, client: Any = None) -> None:
        """`client` is fsspec's file system for `url`, None for the one that it makes itself."""
        self._url = url.rstrip("/")
        self._fs, root = (client, client._strip_protocol(url)) if client is not None else _filesystem(url)
        self._root = root.rstrip("/")
        self._scheme = url.partition("://")[0]

    @property
    def url(self) -> str:
        return self._url

    def _at(self, path: str) -> str:
        return f"{self._root}/{paths.relative(path)}"

    def _named(self, path: str) -> str:
        """How errors name it: the whole URL."""
        return f"{self._url}/{path}" if path else self._url

    def read(self, path: str) -> bytes:
        with typed_errors(self._named(path)):
            return bytes(self._fs.cat_file(self._at(path)))

    def stream(self, path: str) -> BinaryIO:
        """`path` opened for reading, for files too large to hold."""
        with typed_errors(self._named(path)):
            return file_objects.guarded(self._fs.open(self._at(path), "rb"), self._named(path))

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        """A file that becomes `path`, whole, when the block ends well; nothing is left of it when the block raises."""
        with self._published(path) as target:
            with typed_errors(self._named(path)):
                file = self._fs.open(target, "wb")
            try:
                yield file_objects.unfinished(file, self._named(path))
            except BaseException:
                _discard(file)
                raise
            with typed_errors(self._named(path)):
                file.close()

    def list(self, folder: str = "") -> Iterator[Entry]:
        top = self._at(folder) if folder else self._root
        for full, info in self._found(top, folder).items():
            path = full.rstrip("/")[len(self._root) :].lstrip("/")
            if path and full != top and info.get("type") != "directory" and not paths.is_temporary(path):
                yield Entry(path, int(info.get("size") or 0), _modified_ms(info))

    def _found(self, top: str, folder: str) -> dict[str, Any]:
        """Everything below `top`, asked of the storage itself: fsspec would answer a second time from its cache."""
        with typed_errors(self._named(folder)):
            self._fs.invalidate_cache()
            try:
                found = self._fs.find(top, detail=True)
            except FileNotFoundError:
                return {}
        return found if isinstance(found, dict) else {}  # adlfs names a file alone, which has nothing below it

    def write(self, path: str, data: bytes) -> None:
        with self._published(path) as target, typed_errors(self._named(path)):
            self._fs.pipe_file(target, data)

    @contextmanager
    def _published(self, path: str) -> Iterator[str]:
        """The place to write `path` at: itself in an object store, else a name aside that is moved at the end."""
        target = self._at(path)
        if self._scheme in WHOLE_PUT:
            yield target
            return
        aside = paths.temporary(target)
        with typed_errors(self._named(path)):
            self._fs.makedirs(paths.parent(target), exist_ok=True)
        try:
            yield aside
            with typed_errors(self._named(path)):
                self._replace(aside, target)
        finally:
            with typed_errors(self._named(path)):
                self._remove(aside)

    def _replace(self, aside: str, target: str) -> None:
        if self._fs.exists(target):
            self._fs.rm_file(target)
        self._fs.mv(aside, target)

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Sequence[How]:
        halt = parallel.Halt()
        watched = halt.watched(advance)
        source, files = origin(source, files)
        return parallel.each(lambda file: self._clone(source, file, watched), files, STREAMS, halt)

    def copies_to(self, other: FsspecStorage) -> bool:
        """Whether its server can copy to `other` by itself: the same client with the same options."""
        return type(self._fs) is type(other._fs) and self._fs.storage_options == other._fs.storage_options

    def _clone(self, source: Storage, file: Clone, advance: Advance) -> How:
        if isinstance(source, FsspecStorage) and source.copies_to(self):
            with self._published(file.target) as target, typed_errors(source._named(file.source)):
                self._fs.cp_file(source._at(file.source), target)
                size = 0 if advance is unwatched else int(self._fs.size(target) or 0)
            advance(size)
            return How.SERVER_COPY
        with copies.opened(source, file.source) as stream, self.writing(file.target) as target:
            copies.pour(stream, target, advance)
        return How.COPY

    def delete(self, paths_: Iterable[str]) -> None:
        files = builtins.list(paths_)
        parallel.each(self._delete, files, STREAMS)
        folders = {folder for path in files for folder in paths.ancestors(path)}
        for folder in sorted(folders, key=lambda name: name.count("/"), reverse=True):
            with typed_errors(self._named(folder)):
                self._remove_empty(self._at(folder))

    def _delete(self, path: str) -> None:
        full = self._at(path)
        with typed_errors(self._named(path)):
            self._remove(full)

    def children(self, folder: str = "") -> builtins.list[str]:
        """Names of the folders directly in `folder`, sorted; none where it does not exist."""
        top = self._at(folder) if folder else self._root
        with typed_errors(self._named(folder)):
            self._fs.invalidate_cache()
            try:
                entries = self._fs.ls(top, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
        return sorted(paths.name(info["name"].rstrip("/")) for info in entries if info["type"] == "directory")

    def remove(self, folder: str) -> None:
        """Deletes `folder` with everything below, unfinished writes too; one that is not there is no error."""
        with typed_errors(self._named(folder)):
            try:
                self._fs.rm(self._at(folder), recursive=True)
            except FileNotFoundError:
                return

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
            with typed_errors(full):
                self._remove(full)
        return len(left)


def _discard(file: Any) -> None:
    """Ends a write without its file: closing it would publish the half."""
    from fsspec.spec import AbstractBufferedFile

    if hasattr(file, "discard"):
        file.discard()
    if isinstance(file, AbstractBufferedFile):
        file.closed = True  # or its end as an object closes it


def _filesystem(url: str) -> tuple[Any, str]:
    """fsspec's file system and root for `url`; raises Invalid for an unknown scheme, Unsupported where its library is absent."""
    from fsspec.core import url_to_fs

    scheme = url.partition("://")[0]
    with typed_errors(url):
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
