"""The side of the tests: keeps JVMs between drivers, and ends those whose driver did not end well.

A driver is connected for as long as it has a JVM. It says which kind it needs, and is given one or starts one; then it hands over the pipe
that the JVM's life hangs on: one of PySpark runs until its standard input ends. A connection that ends without `GIVEN_BACK` ends the JVM.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pipelines.sandbox import environment
from tests.kept_jvms.jvm import BYTES, GIVEN_BACK, SOCKET, Jvm, encoded

MOST = 4
"""How many wait at a time, each with some 500 MB; the one that has waited longest gives way. So those of most files outlast a file that
needs others, or several at once."""
WITHOUT_SPARK = ("pipelines.driver.installed",)


class Keeper:
    """Serves each driver by a thread, until it is closed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "keeper"
        self._lock = threading.Lock()
        self._waiting: list[Jvm] = []
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.bind(str(self.path))
        self._server.listen()
        threading.Thread(target=self._accept, name="keeper", daemon=True).start()

    @property
    def waiting(self) -> list[int]:
        """The pids of the JVMs that no driver has."""
        with self._lock:
            return [jvm.pid for jvm in self._waiting]

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.end_all()

    def end_all(self) -> None:
        """Ends the JVMs that no driver has."""
        with self._lock:
            while self._waiting:
                self._waiting.pop().end()

    @contextmanager
    def giving(self) -> Iterator[None]:
        """What starts a Spark meanwhile (drivers, and processes of the sandbox) is given kept JVMs."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(SOCKET, str(self.path))
            patch.setattr(environment, "command", command)
            yield

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._server.accept()[0],), daemon=True).start()

    def _serve(self, driver: socket.socket) -> None:
        jvm, ended_well = None, False
        with driver, suppress(ConnectionError):  # a driver that is killed
            kind = driver.recv(BYTES).decode()
            jvm = self._taken(kind)
            driver.send(json.dumps(encoded(jvm)).encode())
            jvm = jvm or _started(driver, kind)
            ended_well = driver.recv(BYTES).decode() == GIVEN_BACK
        if jvm is not None and ended_well:
            self._put_back(jvm)
        elif jvm is not None:
            jvm.end()

    def _taken(self, kind: str) -> Jvm | None:
        with self._lock:
            jvm = next((jvm for jvm in self._waiting if jvm.kind == kind), None)
            if jvm is not None:
                self._waiting.remove(jvm)
            return jvm

    def _put_back(self, jvm: Jvm) -> None:
        with self._lock:
            self._waiting.append(jvm)
            if len(self._waiting) > MOST:
                self._waiting.pop(0).end()


def _started(driver: socket.socket, kind: str) -> Jvm | None:
    """The JVM that the driver has started; None where it ended before."""
    message, descriptors, _, _ = socket.recv_fds(driver, BYTES, 1)
    if not message:
        return None
    pid, port, secret, properties = json.loads(message)
    return Jvm(pid, port, secret, properties, kind, descriptors[0])


_command = environment.command


def command(python: str, module: str) -> Sequence[str]:
    """As `environment.command` has it, with a kept JVM."""
    plain = _command(python, module)
    return plain if module in WITHOUT_SPARK else [*_command(python, "tests.kept_jvms"), module]
