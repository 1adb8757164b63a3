"""Record locks of the operating system that this driver's JVM holds: the kernel takes them away when that process is gone, not before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.domain.errors import Unavailable


class JvmLock:
    """The lock on the file at `path`, which is made where it is not."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _jvm().java.io.RandomAccessFile(str(path), "rw")

    def attempt(self) -> bool:
        """Whether it is this JVM's now; Unavailable (`checkpoint.no_locks`) on a disk without locks."""
        from py4j.protocol import Py4JJavaError

        try:
            lock = self._file.getChannel().tryLock()
        except Py4JJavaError as error:
            hint = "Put the workspace on a disk whose file system has locks (a local one, or NFS with its lock service)."
            raise Unavailable("checkpoint.no_locks", f"{self._path} cannot be locked: {error.java_exception.getMessage()}", hint) from error
        if lock is not None:
            _keep(self._path, lock)
        return lock is not None

    def give_up(self) -> None:
        _jvm().java.lang.System.getProperties().remove(_property(self._path))
        self._file.close()


def jvm_pid() -> int:
    return int(_jvm().java.lang.ProcessHandle.current().pid())


def _keep(path: Path, lock: Any) -> None:
    """Stores the lock in the JVM's system properties: an unreachable one would be closed by the garbage collector, and py4j lets go of its
    references when the driver dies before its JVM does."""
    _jvm().java.lang.System.getProperties().put(_property(path), lock)


def _property(path: Path) -> str:
    return f"tidemark.lease.{path}"


def _jvm() -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm
