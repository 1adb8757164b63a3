"""The file of a lease in HDFS, which knows no conditions but one: a name that is taken is not given again by a rename.

So each content is a file of its own in a folder, the highest number counts, and the next one is written over it: under its number plus one,
complete before it has that name. Of two that write over the same content one gets the number. Lower numbers are removed by who wrote the
highest; one that is so late that its number was removed again finds a higher one, and has written nothing.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from pipelines.domain.home_leases import newest
from pipelines.driver.lease_file import GONE, READ_TRIES, Content, own_system, unless

ONCE = {
    "ipc.client.connect.max.retries": "1",
    "ipc.client.connect.max.retries.on.timeouts": "0",
    "ipc.client.connect.timeout": "15000",
    "ipc.client.rpc-timeout.ms": "15000",
    "dfs.client.retry.policy.enabled": "false",
    "dfs.client.socket-timeout": "15000",
    "dfs.client.failover.max.attempts": "2",
}
"""Hadoop's usual patience with a NameNode would outlast any lease."""
NAME = re.compile(r"([0-9]+)|\.([0-9]+)\.[0-9a-f]+")
"""Of a content, and of one that has not got its number yet."""


class Folder(Protocol):
    """The files of one folder. What the storage does not answer raises OSError."""

    def names(self) -> list[str]:
        """Empty where the folder is not there."""
        ...

    def read(self, name: str) -> str | None:
        """None where it is not there."""
        ...

    def create(self, name: str, text: str) -> None: ...

    def rename(self, name: str, new: str) -> bool:
        """False where `new` is there already, or `name` is not."""
        ...

    def delete(self, name: str) -> None:
        """Nothing where it is not there."""
        ...


class NumberedLease:
    """The lease in `folder`, read and written as `lease_file.LeaseFile` is; what stands for a content is its number."""

    is_conditional = True

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def read(self) -> Content | None:
        """None where nothing is; one that a newer one replaced meanwhile is read again."""
        for _ in range(READ_TRIES):
            number = newest(self._folder.names())
            if number == 0:
                return None
            text = self._folder.read(str(number))
            if text is not None:
                return Content(text, str(number))
        raise OSError("the lease changed each time that it was read")

    def write(self, text: str, over: Content | None) -> bool:
        """Whether `text` is there now, in place of `over`, or of nothing; False where something else is there."""
        before = int(over.tag) if over is not None else 0
        if newest(self._folder.names()) != before:
            return False
        number = before + 1
        aside = f".{number}.{secrets.token_hex(8)}"
        self._folder.create(aside, text)
        if not self._folder.rename(aside, str(number)):
            self._folder.delete(aside)
            return False
        names = self._folder.names()
        if newest(names) != number:
            return False
        for name in names:
            if _is_below(name, number):
                self._folder.delete(name)
        return True


class HadoopFolder:
    """The folder at `url`, by a client of this driver's JVM that asks once."""

    def __init__(self, url: str) -> None:
        from pyspark import SparkContext

        self._url = url
        self._jvm: Any = SparkContext._jvm
        self._system = own_system(self._path(), ONCE)

    def names(self) -> list[str]:
        statuses = unless(GONE, lambda: self._system.listStatus(self._path()))
        return [str(status.getPath().getName()) for status in statuses or ()]

    def read(self, name: str) -> str | None:
        content = unless(GONE, partial(self._content, name))
        return None if content is None else bytes(content).decode(errors="replace")

    def create(self, name: str, text: str) -> None:
        _told(partial(self._put, name, text))

    def rename(self, name: str, new: str) -> bool:
        return bool(unless(GONE, lambda: self._system.rename(self._path(name), self._path(new))))

    def delete(self, name: str) -> None:
        _told(lambda: self._system.delete(self._path(name), False))

    def _content(self, name: str) -> Any:
        stream = self._system.open(self._path(name))
        try:
            return self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)
        finally:
            stream.close()

    def _put(self, name: str, text: str) -> None:
        stream = self._system.create(self._path(name), True)
        stream.write(bytearray(text.encode()))
        stream.close()

    def _path(self, name: str = "") -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._url}/{name}" if name else self._url)


def _told(ask: Callable[[], Any]) -> None:
    unless(set(), ask)


def _is_below(name: str, number: int) -> bool:
    """Whether it is of a content with a lower number, or was to be one and never got its name."""
    match = NAME.fullmatch(name)
    return match is not None and int(match[1] or match[2]) < number
