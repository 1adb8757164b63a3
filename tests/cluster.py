"""A real Spark standalone cluster for tests: a master and workers from PySpark's wheel, each a process of its own on this machine.

The wheel has no `sbin` scripts: `spark-class` starts the daemons' classes.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psutil

from pipelines.sandbox import classes
from tests import java, local_files
from tests.waiting import until

HERE = "127.0.0.1"
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
JOINED = "Successfully registered with master"
CONF = {
    "spark.cores.max": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": classes.BRIEF,
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}
"""Of a job that takes one worker, and leaves the other to another job."""


class Cluster:
    """A master with workers of one core and 512 MB each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._daemons: list[subprocess.Popen[bytes]] = []
        master, log = self._start("master", [MASTER, "--host", HERE, "--port", "0", "--webui-port", "0"])
        self._await(master, log, STARTED.pattern)
        match = STARTED.search(log.read_text())
        assert match is not None
        self.url = match[1]
        """`spark://host:port`."""

    def add_workers(self, number: int = 1) -> None:
        """More workers; they have joined when this returns."""
        command = [WORKER, "--host", HERE, "--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "512m"]
        started = [self._start(name, [*command, "--work-dir", str(self._folder / name), self.url]) for name in self._names(number)]
        for worker, log in started:
            self._await(worker, log, JOINED)

    def kill_worker_of(self, pid: int) -> None:
        """Kills the worker whose executor has started the process `pid`; its executor ends with it."""
        workers = {daemon.pid: daemon for daemon in self._daemons[1:]}
        above = [parent.pid for parent in psutil.Process(pid).parents()]
        worker = next(workers[parent_pid] for parent_pid in above if parent_pid in workers)
        executor = psutil.Process(above[above.index(worker.pid) - 1])
        worker.kill()
        worker.wait()
        until(lambda: not executor.is_running(), 60, what="the executor outlived its worker")

    def end(self) -> None:
        """All at once."""
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in self._daemons:
            daemon.wait(60)

    def _names(self, number: int) -> Sequence[str]:
        return [f"worker{len(self._daemons) + at}" for at in range(number)]

    def _start(self, name: str, arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], Path]:
        spec = find_spec("pyspark")
        assert spec is not None and spec.origin is not None
        log = self._folder / f"{name}.log"
        options = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": HERE}
        with log.open("wb") as output:
            command = [str(Path(spec.origin).parent / "bin" / "spark-class"), *arguments]
            daemon = subprocess.Popen(command, cwd=self._folder, env=os.environ | options, stdout=output, stderr=subprocess.STDOUT)
        self._daemons.append(daemon)
        return daemon, log

    @staticmethod
    def _await(daemon: subprocess.Popen[bytes], log: Path, pattern: str) -> None:
        def is_there() -> bool:
            assert daemon.poll() is None, log.read_text()
            return re.search(pattern, log.read_text()) is not None

        until(is_there, 120, what=str(log))


@contextmanager
def standing(folder: Path, workers: int) -> Iterator[Cluster]:
    """A cluster in `folder`, up when the block begins and gone after it."""
    local_files.prepare()
    java.prepare()
    cluster = Cluster(folder)
    try:
        cluster.add_workers(workers)
        yield cluster
    finally:
        cluster.end()
