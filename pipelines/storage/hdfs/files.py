"""Files of HDFS piece by piece: read from any offset, written in parts."""

from __future__ import annotations

import io
from typing import Any

from pipelines.storage import paths
from pipelines.storage.hdfs.client import WRITES, Client, NotClosed

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
    does not come back.

    A part that could not be closed may lack its end, and WebHDFS has no word to recover its lease: the file is written anew, of the parts
    before, which HDFS still gives, and this one; so no more than a part is held. `writes`: how often, the first included."""

    def __init__(self, client: Client, path: str, writes: int = WRITES) -> None:
        self._client, self._path, self._writes, self._at = client, path, writes, 0
        self._part = bytearray()
        self._sent = 0
        self._created = False

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
        if self._part or not self._created:
            self.send()

    def send(self) -> None:
        part = bytes(self._part)
        if self._created:
            self._append(part)
        else:
            self._client.create(self._path, part)
        self._created = True
        self._sent += len(part)
        self._part.clear()

    def _append(self, part: bytes) -> None:
        try:
            self._client.append(self._path, part)
        except NotClosed:
            if self._writes == 1:
                raise
            self._write_anew(part)

    def _write_anew(self, part: bytes) -> None:
        """Built beside, then put in the place: a late end of the first comes to a file that is gone."""
        beside = paths.temporary(self._path)
        copy = Written(self._client, beside, self._writes - 1)
        try:
            with self._client.get(self._path, length=self._sent) as answer:
                for piece in answer.iter_content(PART_BYTES):
                    copy.write(piece)
            if copy.tell() != self._sent:
                raise TimeoutError(f"{self._path} broke off after {copy.tell()} of {self._sent} bytes")
            copy.write(part)
            copy.finish()
            self._client.move(beside, self._path, replace=True)
        finally:
            self._client.discard(beside)
