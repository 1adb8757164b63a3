"""S3: copies made by the server, uploads in parallel and in parts, many objects deleted by one request."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import BinaryIO

from botocore.exceptions import ClientError

from pipelines.domain.errors import Unavailable
from pipelines.storage import copying, file_objects, parallel, paths, s3_client, s3_listing, s3_parts
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Advance, Clone, Entry, How, Storage, unwatched
from pipelines.storage.remote import FsspecStorage
from pipelines.storage.s3_client import STREAMS
from pipelines.storage.s3_sending import PART_BYTES, Sending

SINGLE_COPY_BYTES = 5 * 1024**3
"""The most that one `CopyObject` copies (S3)."""
COPIED_PART_BYTES = 512 * 1024 * 1024
"""Up to 10,000 of them: 5 TB, the largest object there is (S3)."""
COPIED_PARTS_AT_ONCE = 4
WRITTEN_PARTS_AT_ONCE = 4


class S3Storage(FsspecStorage):
    """`Storage` over `s3://bucket/prefix`."""

    def __init__(self, url: str) -> None:
        self._client = s3_client.client()
        super().__init__(url, self._client)

    def read(self, path: str) -> bytes:
        with typed_errors(path):
            return bytes(self._client.call("get_object", **self._object(path))["Body"].read())

    def write(self, path: str, data: bytes) -> None:
        with typed_errors(path):
            self._client.call("put_object", **self._object(path), Body=data)

    def stream(self, path: str) -> BinaryIO:
        with typed_errors(path):
            return file_objects.guarded(self._client.open(self._at(path), "rb", block_size=PART_BYTES), path)

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        target = self._at(path)
        with ThreadPoolExecutor(WRITTEN_PARTS_AT_ONCE) as pool:
            sending = Sending(self._client, pool, WRITTEN_PARTS_AT_ONCE)
            with sending.writing(target, path) as file:
                yield file_objects.unfinished(file, path)

    def clone(self, source: Storage, files: Sequence[Clone], advance: Advance = unwatched) -> Sequence[How]:
        halt = parallel.Halt()
        watched = halt.watched(advance)
        if isinstance(source, S3Storage) and source.copies_to(self):
            return parallel.each(lambda file: self._copy(source, file, watched), files, STREAMS, halt)
        with ThreadPoolExecutor(STREAMS) as pool:
            sending = Sending(self._client, pool, STREAMS)
            return parallel.each(lambda file: self._send(source, file, watched, sending), files, STREAMS, halt)

    def _send(self, source: Storage, file: Clone, advance: Advance, sending: Sending) -> How:
        target = self._at(file.target)
        with copying.opened(source, file.source) as stream:
            sending.send(stream, target, file.target, advance)
        return How.COPY

    def _copy(self, source: S3Storage, file: Clone, advance: Advance) -> How:
        """`CopyObject` where it can, which takes the server as long whatever the size; in parts above its limit."""
        origin, target = source._at(file.source), self._at(file.target)
        size = source._size(file.source)
        if size > SINGLE_COPY_BYTES:
            self._copy_in_parts(origin, target, size, file.target, advance)
            return How.SERVER_COPY
        with typed_errors(file.source):
            self._client.call("copy_object", **self._object(file.target), CopySource=source._object(file.source))
        advance(size)
        return How.SERVER_COPY

    def _size(self, path: str) -> int:
        """A HEAD has no body to say whether the object is missing or the bucket: where one of them is, a GET says which."""
        with typed_errors(path):
            try:
                return int(self._client.call("head_object", **self._object(path))["ContentLength"])
            except ClientError as error:
                if error.response["Error"]["Code"] == "404":
                    self._client.call("get_object", **self._object(path), Range="bytes=0-0")
                raise

    def _copy_in_parts(self, origin: str, target: str, size: int, path: str, advance: Advance) -> None:
        def copy(first: int) -> None:
            last = min(first + COPIED_PART_BYTES, size) - 1
            parts.copy(first // COPIED_PART_BYTES + 1, origin, first, last)
            advance(last - first + 1)

        with s3_parts.parts(self._client, target, path) as parts:
            parallel.each(copy, range(0, size, COPIED_PART_BYTES), COPIED_PARTS_AT_ONCE)

    def list(self, folder: str = "") -> Iterator[Entry]:
        for item in s3_listing.objects(self._client, self._folder(folder), folder or self.url):
            path = self._relative(item["Key"])
            if path and not path.endswith("/") and not paths.is_temporary(path):
                yield Entry(path, int(item["Size"]), int(item["LastModified"].timestamp() * 1000))

    def children(self, folder: str = "") -> builtins.list[str]:
        return s3_listing.folders(self._client, self._folder(folder), folder or self.url)

    def delete(self, paths_: Iterable[str]) -> None:
        s3_listing.delete(self._client, [self._at(path) for path in paths_], self.url)

    def remove(self, folder: str) -> None:
        """All below `folder`, what other tools put there to mark folders and unfinished uploads too."""
        self._delete_all(folder, lambda key: True)
        self._abort_all(folder)

    def sweep(self, folder: str = "") -> int:
        return self._delete_all(folder, paths.is_temporary) + self._abort_all(folder)

    def _delete_all(self, folder: str, wanted: Callable[[str], bool]) -> int:
        found = [item["Key"] for item in s3_listing.objects(self._client, self._folder(folder), folder or self.url) if wanted(item["Key"])]
        s3_listing.delete(self._client, [f"{self._bucket}/{key}" for key in found], folder or self.url)
        return len(found)

    def _abort_all(self, folder: str) -> int:
        """Ends uploads that nobody completed; an account that may not list them leaves them to the bucket's lifecycle."""
        try:
            return s3_parts.abort_below(self._client, self._folder(folder), folder or self.url)
        except Unavailable as error:
            if error.code != "storage.denied":
                raise
            return 0

    def _object(self, path: str) -> dict[str, str]:
        bucket, key, _ = self._client.split_path(self._at(path))
        return {"Bucket": bucket, "Key": key}

    @property
    def _bucket(self) -> str:
        return str(self._client.split_path(self._root)[0])

    def _folder(self, folder: str) -> str:
        """`bucket/a/b/` or, for all of a bucket, `bucket/`."""
        return f"{self._at(folder) if folder else self._root}/"

    def _relative(self, key: str) -> str:
        return f"{self._bucket}/{key}"[len(self._root) + 1 :]
