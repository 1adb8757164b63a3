"""Spark's own history server, as Tidemark's server sees it: one process for the workspace, begun when somebody asks, ended with the server.

Without a server there is none: it would end with the command that asked for it.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from pipelines.domain.errors import Unavailable
from pipelines.domain.runtimes import OWN
from pipelines.sandbox import environment, processes

MODULE = "pipelines.sandbox.history_server"
LOGS, PORT_FILE, LOG_FILE = "logs", "port", "history.log"
FOLDER = "history"
IDLE_S = 900.0
START_S = 120.0
"""How long it may take until it answers, and then until it has read a log."""
POLL_S = 0.2
MASTER = "local[1]"
"""As for a Spark of this machine, whose ports are for this machine alone."""


class History:
    """The process, its folder and its port. Safe for several threads."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def open(self, home: Path) -> None:
        """From now on it may be begun, with its folder in `home`."""
        self._folder = home / FOLDER

    def close(self) -> None:
        """Ends it, and removes its folder."""
        with self._lock:
            self._end()
            self._folder = None

    @property
    def is_open(self) -> bool:
        """Whether a server is there that it can live with."""
        return self._folder is not None

    @property
    def pid(self) -> int | None:
        """Its process; None while none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def address(self, logs: Mapping[str, Path], application: str, watch: Callable[[], None]) -> str:
        """The address of an application in the history server that shows `logs` (name of a log -> its place), begun if none runs.

        `watch` is called while it starts and reads; what that raises is passed on. Raises Unavailable (`history.start`, `history.unread`).
        """
        with self._lock:
            folder = self._begun()
            _link(folder / LOGS, logs)
            port = self._until(watch, lambda: _read(folder / PORT_FILE), "history.start", "does not answer")
            url = f"http://127.0.0.1:{port}"
            self._until(watch, lambda: _knows(url, application), "history.unread", f"has not read the event log of {application}")
            return f"{url}/history/{application}/"

    def _begun(self) -> Path:
        """The folder of the process, which runs now and has been told that somebody asks."""
        if self._folder is None:
            raise Unavailable("history.start", "No server runs that it could live with", "Start one: python3 -m dashboard")
        if self._process is None or self._process.poll() is not None:
            self._end()
            (self._folder / LOGS).mkdir(parents=True)
            command = environment.command("", MODULE)
            self._process = processes.started(command, self._folder, environment.environ(MASTER, OWN), LOG_FILE, subprocess.PIPE)
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it ends just now, which the wait for its port says
            self._process.stdin.write(b"asked\n")
            self._process.stdin.flush()
        return self._folder

    def _until(self, watch: Callable[[], None], look: Callable[[], str], code: str, what: str) -> str:
        deadline = time.monotonic() + START_S
        while not (seen := look()):
            watch()
            if self.pid is None or time.monotonic() > deadline:
                assert self._folder is not None
                message = f"Spark's history server {what}. Its last words:\n{processes.tail(self._folder / LOG_FILE, ())}"
                raise Unavailable(code, message, "Try again; `about` says which Java and Spark there are.")
            time.sleep(POLL_S)
        return seen

    def _end(self) -> None:
        if self._folder is None or self._process is None:
            return
        processes.end(self._folder)
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)


def _link(folder: Path, logs: Mapping[str, Path]) -> None:
    """Makes the folder hold a link to each of the logs, and no other."""
    for link in folder.iterdir():
        if link.is_symlink() and logs.get(link.name) != link.readlink():
            link.unlink()
    for name, place in logs.items():
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(place)


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def _knows(url: str, application: str) -> str:
    """Whether the server has read the application's log; empty where not."""
    try:
        with urllib.request.urlopen(f"{url}/api/v1/applications/{application}", timeout=10) as answer:
            return "read" if answer.status == 200 else ""
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return ""
