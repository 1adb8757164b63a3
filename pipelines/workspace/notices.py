"""Notices: work that mostly takes no time is listed as an operation only once it has taken some."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Notice:
    """The row of an operation: written by `save` after some seconds or when somebody is told of it, and not any more once it has ended."""

    def __init__(self, save: Callable[[], None], after_s: float, *, is_followed: bool = False) -> None:
        """`is_followed`: its end is somebody's to hear, whoever was told."""
        self._save = save
        self._followed = is_followed
        self._written = self._closed = False
        self._turn = threading.Lock()
        self._timer = threading.Timer(after_s, self.write)
        self._timer.daemon = True
        self._timer.start()

    def write(self) -> None:
        with self._turn:
            self._write()

    def follow(self) -> bool:
        """The row is there now, and somebody will be told of it, who follows it to its end; False where it has ended."""
        with self._turn:
            self._write()
            self._followed |= not self._closed
            return not self._closed

    def close(self) -> None:
        """From here on nothing is written, and nobody is told."""
        self._timer.cancel()
        with self._turn:
            self._closed = True

    @property
    def is_written(self) -> bool:
        with self._turn:
            return self._written

    @property
    def is_followed(self) -> bool:
        with self._turn:
            return self._followed

    def _write(self) -> None:
        if not self._written and not self._closed:
            self._written = True
            self._save()
