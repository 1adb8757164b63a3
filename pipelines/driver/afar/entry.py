"""The driver where YARN has started it: it runs as any driver does, in a folder of its own, and a carrier carries what it writes there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pipelines.domain import segments
from pipelines.domain.runs import LOG_FILE, SPEC_FILE
from pipelines.driver.afar import packing
from pipelines.driver.afar.carrier import Carrier
from pipelines.driver.hadoop_path import HadoopPath
from pipelines.driver.records import Clock, replace_whole
from pipelines.driver.run import run

FOLDER = "run"
LOGS_VARIABLE, OF_JVM = "LOG_DIRS", "stderr"
"""Where YARN keeps what a container's processes write, and the file with what the JVM logs."""


def main(now_ms: Clock) -> int:
    """Runs the run that came with the archive, and answers with its exit code; raises OSError where its home heard no end of it."""
    folder = Path(FOLDER).resolve()
    folder.mkdir()
    spec = packing.unpacked(Path(packing.UNPACKED).resolve())
    replace_whole(folder / SPEC_FILE, packing.as_text(spec))
    _write_to(folder / LOG_FILE)
    _connect()
    carrier = Carrier(folder, HadoopPath(segments.folder(spec.checkpoints, spec.run)), JvmLog(folder / LOG_FILE).gather)
    carrier.start()
    code = run(folder, now_ms)
    carrier.close()
    return code


class JvmLog:
    """What the JVM logs, put into the driver's log line by line as it comes."""

    def __init__(self, log: Path) -> None:
        self._log = log
        places = os.environ.get(LOGS_VARIABLE, "")
        self._source = Path(places.split(",")[0], OF_JVM) if places else None
        self._taken = 0

    def gather(self) -> None:
        """Nothing where the container has no such file."""
        if self._source is None or not self._source.is_file():
            return
        with self._source.open("rb") as file:
            file.seek(self._taken)
            lines = file.read().rpartition(b"\n")
        if whole := lines[0] + lines[1]:
            with self._log.open("ab") as log:
                log.write(whole)
            self._taken += len(whole)


def _write_to(log: Path) -> None:
    """From now on the log is what this process and its children print."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(descriptor, stream.fileno())
    os.close(descriptor)


def _connect() -> None:
    """To the JVM, which was there first: the carrier needs its file systems before the script makes a session."""
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
