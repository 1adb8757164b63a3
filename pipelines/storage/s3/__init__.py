"""S3: copies made by the server, uploads in parallel and in parts, many objects deleted by one request."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

from pipelines.domain.errors import Unavailable
from pipelines.storage import copies, file_objects, parallel, paths
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, origin, unwatched
from pipelines.storage.remote import FsspecStorage
from pipelines.storage.s3 import listing
from pipelines.storage.s3.client import COPIES, STREAMS, open_client
from pipelines.storage.s3.transfers import PART_BYTES, Transfers, transferring

SINGLE_COPY_BYTES = 5 * 1024**3
"""The most that one `CopyObject` copies (S3), which takes the server as long whatever the size."""
COPIED_PART_BYTES = 512 * 1024 * 1024
"""Up to 10,000 of them: 5 TB, the largest object there is (S3)."""
WRITTEN_PARTS_AT_ONCE = 4


class S3Storage(FsspecStorage):
    """`Storage` over `s3://bucket/prefix`."""

    def __init__(self, url: str) -> None:
        self._client = open_client()
        super().__init__(url, self._client)

    def read(self, path: str) -> bytes:
        with typed_errors(self._named(path)):
            return bytes(self._client.api.get_object(**self._object(path))["Body"].read())

    def write(self, path: str, data: bytes) -> None:
        with typed_errors(self._named(path)):
            self._client.api.put_object(**self._object(path), Body=data)

    def stream(self, path: str) -> BinaryIO:
        with typed_errors(self._named(path)):
            return file_objects.guarded(self._client.open(self._at(path), "rb", block_size=PART_BYTES), self._named(path))

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        target, named = self._at(path), self._named(path)
        with transferring(self._client, named, WRITTEN_PARTS_AT_ONCE) as uploads, uploads.writing(target, named) as file:
            yield file_objects.unfinished(file, named)

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Sequence[How]:
        halt = parallel.Halt()
        watched = halt.watched(advance)
        source, files = origin(source, files)
        if isinstance(source, S3Storage) and self.copies_from(source):
            with transferring(self._client, self.url, STREAMS, SINGLE_COPY_BYTES, COPIED_PART_BYTES) as copies:
                return parallel.each(lambda file: self._copy(source, file, watched, copies), files, COPIES, halt)
        with transferring(self._client, self.url, STREAMS) as uploads:
            return parallel.each(lambda file: self._send(source, file, watched, uploads), files, STREAMS, halt)

    def copies_from(self, source: Storage) -> bool:
        """Whether the server copies from `source` by itself, and knows the content of its files by their tags."""
        return isinstance(source, S3Storage) and source.copies_to(self)

    def _send(self, source: Storage, file: Clone, advance: Advance, uploads: Transfers) -> How:
        target = self._at(file.target)
        with copies.opened(source, file.source) as stream:
            uploads.send(stream, target, self._named(file.target), advance)
        return How.COPY

    def _copy(self, source: S3Storage, file: Clone, advance: Advance, copies: Transfers) -> How:
        given, target = source._at(file.source), self._at(file.target)
        if 0 <= file.bytes <= SINGLE_COPY_BYTES:
            copies.copy_at_once(given, target, source._named(file.source), file.tag)
            advance(file.bytes)
        else:
            copies.copy(given, target, source._named(file.source), file.tag, advance)
        return How.SERVER_COPY

    def list(self, folder: str = "") -> Iterator[Entry]:
        skipped = len(self._root) - len(self._bucket)
        for key, size, modified_ms, tag in listing.objects(self._client, self._folder(folder), self._named(folder)):
            path = key[skipped:]
            if path and path[-1] != "/" and not (paths.TEMPORARY_PREFIX in path and paths.is_temporary(path)):
                yield Entry(path, size, modified_ms, tag)

    def children(self, folder: str = "") -> builtins.list[str]:
        return listing.folders(self._client, self._folder(folder), self._named(folder))

    def delete(self, paths_: Iterable[str]) -> None:
        listing.delete(self._client, [self._at(path) for path in paths_], self.url)

    def remove(self, folder: str) -> None:
        """All below `folder`, what other tools put there to mark folders and unfinished uploads too."""
        self._delete_all(folder, lambda key: True)
        self._abort_all(folder)

    def sweep(self, folder: str = "") -> int:
        return self._delete_all(folder, paths.is_temporary) + self._abort_all(folder)

    def _delete_all(self, folder: str, chosen: Callable[[str], bool]) -> int:
        objects = listing.objects(self._client, self._folder(folder), self._named(folder))
        full = [f"{self._bucket}/{item.key}" for item in objects if chosen(item.key)]
        listing.delete(self._client, full, self._named(folder))
        return len(full)

    def _abort_all(self, folder: str) -> int:
        """Ends uploads that nobody completed; an account that may not list them leaves them to the bucket's lifecycle."""
        try:
            return listing.abort_uploads(self._client, self._folder(folder), self._named(folder))
        except Unavailable as error:
            if error.code != "storage.denied":
                raise
            return 0

    def _object(self, path: str) -> dict[str, str]:
        return self._client.named(self._at(path))

    @property
    def _bucket(self) -> str:
        return str(self._client.split_path(self._root)[0])

    def _folder(self, folder: str) -> str:
        """`bucket/a/b/` or, for all of a bucket, `bucket/`."""
        return f"{self._at(folder) if folder else self._root}/"
