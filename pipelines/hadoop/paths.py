"""A path that Hadoop's file systems reach, as far as drivers and the sandbox use `pathlib.Path`.

What they do to a checkpoint or a sink's log is the same wherever these lie. Every call goes to the JVM of the running Spark, with the
credentials and the endpoint that Spark itself has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.domain import job_places

SCHEMES = tuple(scheme.removesuffix("://") for scheme in job_places.SCHEMES)
"""What the suites ran on."""


@dataclass(frozen=True)
class HadoopPath:
    """`url` has a scheme, and no slash at its end."""

    url: str

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> HadoopPath:
        return HadoopPath(f"{self.url}/{name}")

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> HadoopPath:
        return HadoopPath(self.url.rpartition("/")[0])

    def with_name(self, name: str) -> HadoopPath:
        return self.parent / name

    def exists(self) -> bool:
        return bool(self.system.exists(self._path))

    def is_dir(self) -> bool:
        return bool(self.system.isDirectory(self._path))

    def is_file(self) -> bool:
        return bool(self.system.isFile(self._path))

    def iterdir(self) -> Iterator[HadoopPath]:
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
        """There, whole, when this returns, and no reader sees a part of it. HDFS shows a file while it is written: there it is renamed, and
        one that is in its place goes just before."""
        if not job_places.is_hdfs(self.url):
            self._write(data)
            return
        aside = self.with_name(f".{self.name}.tmp")
        aside._write(data)
        self.unlink(missing_ok=True)
        aside.rename(self.url)

    def write_text(self, text: str) -> None:
        self.write_bytes(text.encode())

    def unlink(self, missing_ok: bool = False) -> None:
        """Raises FileNotFoundError for a file that is not there, unless it may be missing."""
        if not self.system.delete(self._path, False) and not missing_ok:
            raise FileNotFoundError(self.url)

    def mkdir(self, parents: bool = False) -> None:
        self.system.mkdirs(self._path)

    def rename(self, target: str) -> None:
        """`target` is a URL. Raises OSError where Hadoop says no. An object store copies file by file: a kill leaves a part under each
        name."""
        if not self.system.rename(self._path, HadoopPath(target)._path):
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

    def _write(self, data: bytes) -> None:
        stream = self.writer()
        stream.write(bytearray(data))
        stream.close()

    @property
    def system(self) -> Any:
        """Hadoop's FileSystem that reaches it."""
        return self._path.getFileSystem(_configuration())

    @property
    def _path(self) -> Any:
        return _jvm().org.apache.hadoop.fs.Path(self.url)


Place = Path | HadoopPath
"""Where a checkpoint or a sink lies."""


def _configuration() -> Any:
    """Of the running Spark; before there is one, and afterwards, of its JVM, as its confs and jars make it."""
    from pyspark import SparkContext

    spark = getattr(SparkContext._active_spark_context, "_jsc", None)  # a context has none while it begins
    if spark is not None:
        return spark.hadoopConfiguration()
    return _jvm().org.apache.spark.deploy.SparkHadoopUtil.get().newConfiguration(_jvm().org.apache.spark.SparkConf())


def _jvm() -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm
