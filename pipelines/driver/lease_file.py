"""The file of a lease in an object store, written under conditions: where nothing is, or over the very content that was read.

Hadoop's S3A sends `If-None-Match: *` for `fs.option.create.conditional.overwrite` and `If-Match` for the option with an ETag, and looks for
nothing before (`S3AFileSystem.innerCreateFile`, hadoop-aws 3.4.2 and later). Its usual patience would outlast any lease: this file system
is one of its own that asks once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from pipelines.domain.numbered_leases import READ_TRIES, Content

IF_NONE, IF_MATCH = "fs.option.create.conditional.overwrite", "fs.option.create.conditional.overwrite.etag"
NOT_MET = {"RemoteFileChangedException", "FileAlreadyExistsException", "FileNotFoundException", "NoSuchKeyException"}
"""What S3A throws where a condition does not hold: 412, or 404 for what was to be written over."""
GONE = {"FileNotFoundException"}
CHANGED = {"RemoteFileChangedException", *GONE}
ONCE = {
    "fs.s3a.input.stream.type": "classic",
    "fs.s3a.attempts.maximum": "1",
    "fs.s3a.retry.limit": "1",
    "fs.s3a.retry.throttle.limit": "2",
    "fs.s3a.connection.establish.timeout": "15s",
    "fs.s3a.connection.timeout": "15s",
    "fs.s3a.connection.request.timeout": "15s",
}
"""S3A allows no timeout below 15 s (`AWSClientConfig.minimumOperationDuration`). Its usual stream (`analytics`) keeps what it once read of
a file, and its ETag; the classic one asks for the ETag that it is told."""


class LeaseFile:
    """The file at `url`. What the storage refuses otherwise, or does not answer, raises OSError."""

    def __init__(self, url: str) -> None:
        from pyspark import SparkContext

        self.url = url
        self._jvm: Any = SparkContext._jvm
        self._path = self._jvm.org.apache.hadoop.fs.Path(url)
        self._system = own_system(self._path, ONCE)

    @property
    def is_conditional(self) -> bool:
        """Whether this Hadoop writes under conditions, and no conf forbids it."""
        return bool(self._system.hasPathCapability(self._path, IF_NONE))

    def read(self) -> Content | None:
        """None where nothing is. The text is that of the ETag: one that changes in between is read again."""
        for _ in range(READ_TRIES):
            status = unless(GONE, lambda: self._system.getFileStatus(self._path))
            if status is None:
                return None
            text = unless(CHANGED, partial(self._text, status))
            if text is not None:
                return Content(str(text), str(status.getEtag()))
        raise OSError(f"{self.url} changed each time that it was read")

    def write(self, text: str, over: Content | None) -> bool:
        """Whether `text` is there now, in place of `over`, or of nothing; False where something else is there."""
        return unless(NOT_MET, lambda: self._put(text, over)) is True

    def _put(self, text: str, over: Content | None) -> bool:
        builder = self._system.createFile(self._path).overwrite(True)
        builder = builder.must(IF_NONE, True) if over is None else builder.must(IF_MATCH, over.tag)
        stream = builder.build()
        stream.write(bytearray(text.encode()))
        stream.close()
        return True

    def _text(self, status: Any) -> str:
        stream = self._system.openFile(self._path).withFileStatus(status).build().get()
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode(errors="replace")
        finally:
            stream.close()


def own_system(path: Any, settings: Mapping[str, str]) -> Any:
    """A client of Hadoop's of its own for `path`, with the confs of the job and `settings`, which win."""
    from pyspark import SparkContext

    hadoop = SparkContext._jvm.org.apache.hadoop
    conf = hadoop.conf.Configuration(SparkContext._active_spark_context._jsc.hadoopConfiguration())
    for key, value in settings.items():
        conf.set(key, value)
    return hadoop.fs.FileSystem.newInstance(path.toUri(), conf)


@contextmanager
def as_os_error() -> Iterator[None]:
    """What Java throws within it becomes OSError."""
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        raise OSError(str(error.java_exception.toString())) from error
    except Py4JError as error:
        raise OSError(str(error)) from error


def unless(names: set[str], ask: Callable[[], Any]) -> Any:
    """What `ask` answers; None where Java throws an exception of one of `names`. Any other becomes OSError."""
    from py4j.protocol import Py4JJavaError

    with as_os_error():
        try:
            return ask()
        except Py4JJavaError as error:
            if any(each.getClass().getSimpleName() in names for each in _chain(error.java_exception)):
                return None
            raise


def _chain(throwable: Any) -> list[Any]:
    chain = [throwable]
    while (cause := chain[-1].getCause()) is not None and len(chain) < 20:
        chain.append(cause)
    return chain
