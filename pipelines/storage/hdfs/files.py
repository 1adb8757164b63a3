"""Files of HDFS piece by piece: read from any offset, written in parts."""

from __future__ import annotations

import io
from typing import Any

from pipelines.storage.hdfs.client import Client

PART_BYTES = 8 * 1024 * 1024
"""What is larger is appended in parts of this size."""


class Reading(io.RawIOBase):
    """A file from its beginning on, as one answer; another one after each `seek`."""

    def __init__(self, client: Client, path: str) -> None:
        self._client, self._path, self._at = client, path, 0
        self._answer = client.get(path)
        self._size = int(self._answer.headers["Content-Length"])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset != self._at:
            self._end()
            self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._size:
            return 0
        if self._answer is None:
            self._answer = self._client.get(self._path, self._at)
        data = self._answer.raw.read(min(len(buffer), self._size - self._at))
        if not data:
            raise TimeoutError(f"{self._path} broke off after {self._at} of {self._size} bytes")
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._end()
        super().close()

    def _end(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None


class Written(io.RawIOBase):
    """A file that is sent in parts, the first of which creates it. Between two writes no request is under way: what is discarded then
    does not come back."""

    def __init__(self, client: Client, path: str) -> None:
        self._client, self._path, self._at = client, path, 0
        self._part = bytearray()
        self._send = client.create

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        self._part += data
        self._at += len(data)
        if len(self._part) >= PART_BYTES:
            self.send()
        return len(data)

    def finish(self) -> None:
        """Sends what is left; there is a file also where nothing was written."""
        if self._part or self._send == self._client.create:
            self.send()

    def send(self) -> None:
        self._send(self._path, bytes(self._part))
        self._send = self._client.append
        self._part.clear()
