"""A partition between a process and a server: all that either says to the other passes here, until it is cut off."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

BYTES = 65_536


class Partition:
    """A TCP proxy at `endpoint` to the server at `target` (`http://host:port`). While it is cut nothing passes and no connection ends."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 0)
        self._flowing = threading.Event()
        self._flowing.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listening]
        self.endpoint = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._flowing.clear()

    def heal(self) -> None:
        """What was under way arrives late."""
        self._flowing.set()

    def close(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.heal()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                theirs, _ = self._listening.accept()
                ours = socket.create_connection(self._target, timeout=60)
                ours.settimeout(None)
                self._sockets += [theirs, ours]
                for source, sink in ((theirs, ours), (ours, theirs)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):  # one of them was closed
            while data := source.recv(BYTES):
                self._flowing.wait()
                sink.sendall(data)
            self._flowing.wait()
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def partition(target: str) -> Iterator[Partition]:
    between = Partition(target)
    try:
        yield between
    finally:
        between.close()
