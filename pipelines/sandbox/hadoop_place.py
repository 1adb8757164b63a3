"""A path at a home, as far as the sandbox uses `pathlib.Path`.

Every call goes to the JVM of the running Spark, with the credentials and the endpoint that Spark itself has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HadoopPlace:
    """`url` has a scheme, and no slash at its end."""

    url: str

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> HadoopPlace:
        return HadoopPlace(f"{self.url}/{name}")

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    def is_dir(self) -> bool:
        return self._is("isDirectory")

    def is_file(self) -> bool:
        return self._is("isFile")

    def iterdir(self) -> Iterator[HadoopPlace]:
        for status in self.system.listStatus(self._path):
            yield self / str(status.getPath().getName())

    def read_bytes(self) -> bytes:
        stream = self.reader()
        try:
            return bytes(_jvm().org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, data: bytes) -> None:
        stream = self.writer()
        stream.write(bytearray(data))
        stream.close()

    def write_text(self, text: str) -> None:
        self.write_bytes(text.encode())

    def mkdir(self, parents: bool = False) -> None:
        self.system.mkdirs(self._path)

    def rename(self, target: str) -> None:
        """Raises OSError where Hadoop says no."""
        if not self.system.rename(self._path, HadoopPlace(target)._path):
            raise OSError(f"{self.url} could not be renamed to {target}")

    def remove(self) -> None:
        """With all that is below; nothing where it is not there."""
        self.system.delete(self._path, True)

    def reader(self) -> Any:
        """A stream of the JVM."""
        return self.system.open(self._path)

    def writer(self) -> Any:
        """A stream of the JVM, in the place of what is there."""
        return self.system.create(self._path, True)

    def _is(self, kind: str) -> bool:
        return bool(self.system.exists(self._path)) and bool(getattr(self.system.getFileStatus(self._path), kind)())

    @property
    def _path(self) -> Any:
        return _jvm().org.apache.hadoop.fs.Path(self.url)

    @property
    def system(self) -> Any:
        return self._path.getFileSystem(_context()._jsc.hadoopConfiguration())


def _context() -> Any:
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def _jvm() -> Any:
    return _context()._jvm
