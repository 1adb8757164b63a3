"""Objects on their way into S3 by s3transfer: many at once, large ones in parts, in bounded memory; nothing is left of one that fails."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, cast

from botocore.exceptions import ClientError
from s3transfer.manager import TransferConfig, TransferManager
from s3transfer.subscribers import BaseSubscriber

from pipelines.domain.errors import NotFound
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Advance
from pipelines.storage.s3.client import Client

PART_BYTES = 8 * 1024 * 1024
"""What is larger goes in parts of this size; at least 5 MiB (S3)."""
CHANGED = {"PreconditionFailed", "412"}
PARTS_A_SIZE = 2_000
"""After so many parts of a file whose size is not known theirs doubles: S3 takes 10,000 of them, which makes 500 GB."""


class Transfers:
    """Objects into one S3; what is refused is about `path`."""

    def __init__(self, client: Client, manager: Any) -> None:
        self._client = client
        self._manager = manager

    def send(self, stream: BinaryIO, full: str, path: str, advance: Advance) -> None:
        """All of `stream` becomes the object `full`."""
        start = stream.read(PART_BYTES)
        if len(start) == PART_BYTES:
            stream.seek(0)
            with typed_errors(path):
                self._manager.upload(stream, *self._bucket_and_key(full), subscribers=[Progress(advance)]).result()
            return
        with typed_errors(path):
            self._client.api.put_object(**self._client.named(full), Body=start)
        advance(len(start))

    def copy_at_once(self, source: str, full: str, path: str, tag: str) -> None:
        """As `copy`, by one request: of at most 5 GB (S3)."""
        with typed_errors(path), _unchanged(path):
            self._client.api.copy_object(CopySource=self._client.named(source), **self._client.named(full), **_only(tag))

    def copy(self, source: str, full: str, path: str, tag: str, advance: Advance) -> None:
        """The object `full` becomes a copy of the object `source`, made by the server; NotFound where that has another content than `tag`.

        A HEAD has no body to say whether the object is missing or the bucket: where one of them is, a GET says which.
        """
        origin = self._client.named(source)
        with typed_errors(path), _unchanged(path):
            try:
                self._manager.copy(origin, *self._bucket_and_key(full), _only(tag), subscribers=[Progress(advance)]).result()
            except ClientError as error:
                if error.response["Error"]["Code"] == "404":
                    self._client.api.get_object(**origin, Range="bytes=0-0")
                raise

    @contextmanager
    def writing(self, full: str, path: str) -> Iterator[BinaryIO]:
        """A file that becomes the object `full` when the block ends well; nothing is left of it when the block raises."""
        reading, writing = os.pipe()
        with Parts(io.FileIO(reading)) as parts, open(writing, "wb") as pipe:
            with typed_errors(path):
                upload = self._manager.upload(parts, *self._bucket_and_key(full), subscribers=[Closing(parts)])
            with Written(pipe, upload) as file:
                try:
                    yield cast(BinaryIO, file)
                except BaseException:
                    upload.cancel()  # before the file ends, or its half would become the object
                    raise
                file.close()
                with typed_errors(path):
                    upload.result()

    def _bucket_and_key(self, full: str) -> tuple[str, str]:
        bucket, key, _ = self._client.split_path(full)
        return bucket, key


def _only(tag: str) -> dict[str, str]:
    """The condition of a copy."""
    return {"CopySourceIfMatch": f'"{tag}"'} if tag else {}


@contextmanager
def _unchanged(path: str) -> Iterator[None]:
    """A source that is another one by now is gone for who asks for the one before."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] not in CHANGED:
            raise
        raise NotFound("storage.not_found", f"{path} was replaced by another", "List the folder again.") from error


@contextmanager
def transferring(
    client: Client, path: str, at_once: int, single_bytes: int = PART_BYTES - 1, part_bytes: int = PART_BYTES
) -> Iterator[Transfers]:
    """Transfers of up to `at_once` requests, and parts in memory; what is larger than `single_bytes` goes in parts of `part_bytes`.

    When the block raises, those under way are cancelled; it is left when all have ended.
    """
    config = TransferConfig(
        multipart_threshold=single_bytes + 1,
        multipart_chunksize=part_bytes,
        max_request_concurrency=at_once,
        max_submission_concurrency=at_once,
        max_in_memory_upload_chunks=at_once,
    )
    with typed_errors(path):
        manager = TransferManager(client.api, config)
    with manager:
        yield Transfers(client, manager)


class Progress(BaseSubscriber):  # type: ignore[misc]  # s3transfer has no types
    """Tells `advance` the bytes that were sent, fewer where they have to be sent again; what it raises cancels the transfer."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance

    def on_progress(self, future: Any, bytes_transferred: int, **_: Any) -> None:
        try:
            self._advance(bytes_transferred)
        except BaseException:
            future.cancel()
            raise


class Closing(BaseSubscriber):  # type: ignore[misc]
    """Closes `stream` when its transfer ends, so that who writes to it does not wait for it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream

    def on_done(self, future: Any, **_: Any) -> None:
        self._stream.close()


class Parts(io.BufferedReader):
    """The end of a pipe that is read in parts, each by one `read`: they grow."""

    _count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """At least `size` bytes, if there are so many."""
        self._count += 1
        return super().read(size << self._count // PARTS_A_SIZE if size and size > 0 else size)


class Written(io.RawIOBase):
    """A file whose bytes go through `pipe` to `upload`."""

    def __init__(self, pipe: BinaryIO, upload: Any) -> None:
        self._pipe = pipe
        self._upload = upload
        self._bytes = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._bytes

    def write(self, data: Any) -> int:
        """Raises what sending the bytes before these raised."""
        with suppress(BrokenPipeError):
            if not self._upload.done():
                self._bytes += self._pipe.write(data)
                return len(data)
        self.close()
        return int(self._upload.result())

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._pipe.close()
        super().close()
