"""The folder of a lease in HDFS (`pipelines.domain.numbered_leases`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pipelines.driver.lease_file import GONE, own_system, unless

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
