"""The driver where a cluster has started it: it runs as any driver does, in a folder of its own; a carrier carries what it writes there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pipelines.domain import segments
from pipelines.domain.run_specs import SPEC_FILE
from pipelines.domain.runs import LOG_FILE
from pipelines.driver import log4j
from pipelines.driver.afar import fronts, packing
from pipelines.driver.afar.carrier import Carrier
from pipelines.driver.records import Clock, replace_whole
from pipelines.driver.run import run
from pipelines.hadoop.paths import HadoopPath

FOLDER = "run"
LOGS_VARIABLE, OF_JVM = "LOG_DIRS", "stderr"
"""Where YARN keeps what a container's processes write, and the file with what the JVM logs."""
JVM_LOG = "jvm.log"
"""The same in the container's working directory, where its cluster keeps no files of logs (Kubernetes)."""


def main(now_ms: Clock) -> int:
    """Runs the run that came with the archive, and answers with its exit code; raises OSError where its home heard no end of it."""
    folder = Path(FOLDER).resolve()
    folder.mkdir()
    spec = packing.unpacked(Path(packing.UNPACKED).resolve())
    replace_whole(folder / SPEC_FILE, packing.as_text(spec))
    _write_to(folder / LOG_FILE)
    log = JvmLog(_log_of(_connected()), folder / LOG_FILE)
    carrier = Carrier(folder, HadoopPath(segments.folder(spec.checkpoints, spec.run)), log.gather)
    carrier.start()
    code = run(folder, now_ms)
    carrier.close()
    return code


class JvmLog:
    """What the JVM logs to the file `source`, put into the driver's log line by line as it comes."""

    def __init__(self, source: Path, log: Path) -> None:
        self._source = source
        self._log = log
        self._taken = 0

    def gather(self) -> None:
        """Nothing where there is no such file."""
        if not self._source.is_file():
            return
        with self._source.open("rb") as file:
            file.seek(self._taken)
            lines = file.read().rpartition(b"\n")
        if whole := lines[0] + lines[1]:
            with self._log.open("ab") as log:
                log.write(whole)
            self._taken += len(whole)
            if self._source.name == JVM_LOG:  # YARN's own it shows and keeps itself
                fronts.free(self._source, self._taken)


def _write_to(log: Path) -> None:
    """From now on the log is what this process and its children print."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(descriptor, stream.fileno())
    os.close(descriptor)


def _log_of(jvm: Any) -> Path:
    """The file that the JVM logs to: the container's own, or one that is begun here."""
    if places := os.environ.get(LOGS_VARIABLE, ""):
        return Path(places.split(",")[0], OF_JVM)
    log = Path(JVM_LOG).resolve()
    log4j.write_to(jvm, log)
    return log


def _connected() -> Any:
    """The JVM, which was there first: the carrier needs its file systems before the script makes a session."""
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
    return SparkContext._jvm
