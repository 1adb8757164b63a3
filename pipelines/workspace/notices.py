"""Notices: work that mostly takes no time is listed as an operation only once it has taken some."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Notice:
    """The row of an operation: written by `save` after some seconds or when somebody asks for it, and not any more once it has ended."""

    def __init__(self, save: Callable[[], None], after_s: float) -> None:
        self._save = save
        self._written = self._closed = False
        self._turn = threading.Lock()
        self._timer = threading.Timer(after_s, self.write)
        self._timer.daemon = True
        self._timer.start()

    def write(self) -> bool:
        """Whether the row is there now."""
        with self._turn:
            if not self._written and not self._closed:
                self._written = True
                self._save()
            return self._written

    def close(self) -> bool:
        """Whether the row was written; it is not from here on."""
        self._timer.cancel()
        with self._turn:
            self._closed = True
            return self._written

    @property
    def is_written(self) -> bool:
        with self._turn:
            return self._written
