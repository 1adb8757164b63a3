"""`python -m pipelines.sandbox.history_server FOLDER`: Spark's own history server over the event logs in `logs` of its folder.

It listens on a free port of this machine alone, which is then in `port`. It ends with who started it (its standard input ends then), and
once nobody has looked for a while: no line has come on its standard input, and no browser has been connected.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from pipelines.sandbox import sparks
from pipelines.sandbox.history import IDLE_S, LOGS, PORT_FILE

CLASS = "org.apache.spark.deploy.history.HistoryServer"
MEMORY = "1g"
POLL_S = 1.0
HERE = "127.0.0.1"
CONF = {
    "spark.history.ui.port": "0",
    "spark.history.fs.update.interval": "5s",
    "spark.history.retainedApplications": "4",
    "spark.history.fs.cleaner.enabled": "false",
    "spark.history.fs.numReplayThreads": "2",
    "spark.ui.showConsoleProgress": "false",
}


def main(folder: Path) -> int:
    """The exit code of the history server, or 0 where it was ended."""
    jars = sparks.jars("")
    if jars is None:
        print("there is no Spark beside this Python", flush=True)
        return 1
    conf = folder / "history.conf"
    conf.write_text(
        "".join(f"{key} {value}\n" for key, value in {**CONF, "spark.history.fs.logDirectory": f"file://{folder / LOGS}"}.items())
    )
    environ = {**os.environ, "SPARK_HOME": str(jars.parent), "SPARK_LOCAL_IP": HERE, "SPARK_DAEMON_MEMORY": MEMORY}
    command = [str(jars.parent / "bin" / "spark-class"), CLASS, "--properties-file", str(conf)]
    child = subprocess.Popen(command, cwd=folder, env=environ, stdin=subprocess.DEVNULL)
    asked = Asked(child)
    try:
        return _watched(child, asked, folder / PORT_FILE)
    finally:
        child.kill()
        child.wait()


class Asked:
    """When somebody asked last: lines of standard input; at its end the child is ended, and this process with it."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.at_s = time.monotonic()
        self._child = child
        threading.Thread(target=self._read, daemon=True).start()

    def now(self) -> None:
        self.at_s = time.monotonic()

    def _read(self) -> None:
        for _ in sys.stdin:
            self.now()
        self._child.kill()


def _watched(child: subprocess.Popen[bytes], asked: Asked, port_file: Path) -> int:
    """Until it ends, or has been idle for so long since it was there."""
    while child.poll() is None:
        ports = list(_ports(child.pid))
        if not port_file.exists():
            asked.now()
            _say(port_file, [port for port, is_open in ports if not is_open])
        elif any(is_open for _, is_open in ports):
            asked.now()
        if time.monotonic() - asked.at_s > IDLE_S:
            print(f"nobody has looked for {IDLE_S:g} s: the history server ends", flush=True)
            return 0
        time.sleep(POLL_S)
    return child.returncode


def _say(port_file: Path, listening: Sequence[int]) -> None:
    if listening:
        aside = port_file.with_suffix(".tmp")
        aside.write_text(str(listening[0]))
        aside.replace(port_file)


def _ports(pid: int) -> Iterator[tuple[int, bool]]:
    """Ports that the process listens on, and (True) those on which somebody is connected."""
    try:
        connections = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN:
            yield connection.laddr.port, False
        elif connection.status == psutil.CONN_ESTABLISHED:
            yield connection.laddr.port, True


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
