"""The memory that processes take which a benchmark starts."""

from __future__ import annotations

import threading

import psutil


class Peak:
    """The largest memory of the processes that this one starts during a block, in bytes: the sandbox's Python, and its JVM."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}
        self._over = threading.Event()
        self._known = {process.pid for process in psutil.Process().children(recursive=True)}
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def __str__(self) -> str:
        return ", ".join(f"{name} at most {size / 1e6:,.0f} MB" for name, size in sorted(self.bytes.items()))

    def _look(self) -> None:
        while not self._over.wait(0.2):
            for process in psutil.Process().children(recursive=True):
                if process.pid not in self._known:
                    self._note(process)

    def _note(self, process: psutil.Process) -> None:
        try:
            name, size = process.name(), process.memory_info().rss
        except psutil.NoSuchProcess:
            return
        self.bytes[name] = max(self.bytes.get(name, 0), size)
