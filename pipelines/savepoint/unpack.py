"""Zstandard, read so that a truncated stream is an error and a bomb is one too: the library itself ends silently, or fills the memory."""

from __future__ import annotations

from collections import deque
from typing import Any, BinaryIO

from pipelines.domain.errors import Corrupt

SOURCE_BYTES = 1024 * 1024
FEED_BYTES = 8 * 1024
"""What is given to the decompressor at once: at worst (RLE blocks) it answers with 32,768 times as much."""
HINT = "Copy the archive again from where it came from, or export the savepoint again; nothing of it was imported."


class Unpacked:
    """The decompressed content of `source`: one or more Zstandard frames, of which the last one must be whole."""

    def __init__(self, source: BinaryIO, allowed: int) -> None:
        self._source = source
        self._allowed = allowed
        self._given = 0
        self._piece = memoryview(b"")
        self._fed = 0
        self._frame: Any = None
        self._ready = b""

    def allow(self, allowed: int) -> None:
        """No more than `allowed` bytes may come out, from the beginning on."""
        self._allowed = allowed

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, empty only at the end; Corrupt where the stream is damaged, cut off or larger than allowed."""
        while not self._ready and self._fill():
            pass
        if size < 0 or len(self._ready) <= size:
            ready, self._ready = self._ready, b""
            return ready
        ready, self._ready = self._ready[:size], self._ready[size:]
        return ready

    def _fill(self) -> bool:
        """Decompresses the next bit of the source; False at its end."""
        feed = self._next()
        if not feed:
            if self._frame is not None:
                raise _broken("it ends too early: it was cut off on its way")
            return False
        self._ready = self._decompressed(feed)
        self._given += len(self._ready)
        if self._given > self._allowed:
            raise _broken("it holds more than its manifest says")
        return True

    def _next(self) -> bytes:
        if self._fed >= len(self._piece):
            self._piece, self._fed = memoryview(self._source.read(SOURCE_BYTES)), 0
        feed = self._piece[self._fed : self._fed + FEED_BYTES]
        self._fed += len(feed)
        return bytes(feed)

    def _decompressed(self, feed: bytes) -> bytes:
        """Decompresses `feed`; bytes behind the end of a frame are fed to the next frame."""
        import zstandard

        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            data: bytes = self._frame.decompress(feed)
        except zstandard.ZstdError as error:
            raise _broken(str(error)) from error
        if self._frame.eof:
            self._fed -= len(self._frame.unused_data)
            self._frame = None
        return data


class Tail:
    """A stream that remembers the last bytes that were read of it."""

    def __init__(self, stream: Unpacked, most: int) -> None:
        self._stream, self._most = stream, most
        self._last: deque[bytes] = deque()
        self._kept = 0
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._last.append(data)
        self._kept, self._read = self._kept + len(data), self._read + len(data)
        while self._kept - len(self._last[0]) >= self._most:
            self._kept -= len(self._last.popleft())
        return data

    def since(self, place: int) -> bytes:
        """What was read from `place` on, as far as it is remembered."""
        return b"".join(self._last)[max(0, self._kept - (self._read - place)) :] if place < self._read else b""


def _broken(why: str) -> Corrupt:
    return Corrupt("import.damaged", f"The archive cannot be decompressed: {why}", HINT)
