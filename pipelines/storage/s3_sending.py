"""Streams on their way into S3: many files at once, large ones in parts that are under way at once, in bounded memory."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, cast

from pipelines.storage import s3_parts
from pipelines.storage.errors import typed_errors
from pipelines.storage.protocol import Advance, unwatched
from pipelines.storage.s3_client import Client

PART_BYTES = 8 * 1024 * 1024
"""What is larger goes in parts of this size; at least 5 MiB (S3)."""
PARTS_A_SIZE = 2_000
"""After so many parts their size doubles: S3 takes 10,000 of them, which makes 500 GB."""


class Sending:
    """Sends to one S3 by the threads of `pool`; `parts_at_once` bounds the parts that wait in memory."""

    def __init__(self, client: Client, pool: ThreadPoolExecutor, parts_at_once: int) -> None:
        self._client = client
        self._pool = pool
        self._room = threading.Semaphore(parts_at_once)

    def send(self, stream: BinaryIO, full: str, path: str, advance: Advance) -> None:
        """All of `stream` becomes the object `full`; what is refused is about `path`."""
        piece = stream.read(PART_BYTES)
        if len(piece) < PART_BYTES:
            self.whole(piece, full, path)
            advance(len(piece))
            return
        with self.parts(full, path, advance) as growing:
            while piece:
                growing.add(piece)
                piece = stream.read(growing.part_bytes)

    def whole(self, data: bytes, full: str, path: str) -> None:
        """`data` becomes the object `full` by one request."""
        with typed_errors(path):
            bucket, key, _ = self._client.split_path(full)
            self._client.call("put_object", Bucket=bucket, Key=key, Body=data)

    @contextmanager
    def parts(self, full: str, path: str, advance: Advance = unwatched) -> Iterator[Growing]:
        """The object `full` in parts; it is there when the block ends well, and nothing of it when the block raises."""
        with s3_parts.parts(self._client, full, path) as parts, _ended() as under_way:
            yield Growing(parts, under_way, self._pool, self._room, advance)

    @contextmanager
    def writing(self, full: str, path: str) -> Iterator[BinaryIO]:
        """A file that becomes the object `full` when the block ends well."""
        with ExitStack() as stack:
            file = Written(lambda: stack.enter_context(self.parts(full, path)))
            yield cast(BinaryIO, file)
            rest = file.rest()
            if rest is not None:
                self.whole(rest, full, path)


class Growing:
    """An object whose parts are sent while the next one is made."""

    def __init__(
        self, parts: s3_parts.Parts, under_way: list[Future[None]], pool: ThreadPoolExecutor, room: threading.Semaphore, advance: Advance
    ) -> None:
        self._parts = parts
        self._under_way = under_way
        self._pool = pool
        self._room = room
        self._advance = advance
        self._count = 0

    @property
    def part_bytes(self) -> int:
        """How large the next part should be."""
        return PART_BYTES << self._count // PARTS_A_SIZE

    def add(self, piece: bytes) -> None:
        """Waits until there is room for `piece`, and raises what sending those before it raised."""
        self._room.acquire()
        self._count += 1
        sent = self._pool.submit(self._put, self._count, piece)
        sent.add_done_callback(lambda _: self._room.release())
        self._under_way.append(sent)
        for ended in [ended for ended in self._under_way if ended.done()]:
            self._under_way.remove(ended)
            ended.result()

    def _put(self, number: int, piece: bytes) -> None:
        self._parts.put(number, piece)
        self._advance(len(piece))


class Written(io.RawIOBase):
    """What is written is gathered until it makes a part; the first part begins the object."""

    def __init__(self, begin: Callable[[], Growing]) -> None:
        self._begin = begin
        self._growing: Growing | None = None
        self._gathered = bytearray()
        self._told = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._told

    def write(self, data: Any) -> int:
        self._gathered += data
        self._told += len(data)
        if len(self._gathered) >= (self._growing.part_bytes if self._growing else PART_BYTES):
            self._send()
        return len(data)

    def rest(self) -> bytes | None:
        """Sends what is left as the last part; where no part was sent, all that was written."""
        if self._growing is None:
            return bytes(self._gathered)
        if self._gathered:
            self._send()
        return None

    def _send(self) -> None:
        if self._growing is None:
            self._growing = self._begin()
        self._growing.add(bytes(self._gathered))
        self._gathered.clear()


@contextmanager
def _ended() -> Iterator[list[Future[None]]]:
    """Work that has ended when the block is left: all of it where it ends well, else what had begun."""
    under_way: list[Future[None]] = []
    try:
        yield under_way
        for sent in under_way:
            sent.result()
    finally:
        for sent in under_way:
            sent.cancel()
        wait(under_way)
