"""A timer for what is kept warm: it goes off when nobody has asked for a while. Its owner's lock keeps it from several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable


class IdleTimer:
    """Calls `act`, in a thread of its own, `idle_s` after the newest `begin`."""

    def __init__(self, idle_s: float, act: Callable[[], None]) -> None:
        self._idle_s, self._act = idle_s, act
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """From now on it counts anew."""
        self.stop()
        self._timer = threading.Timer(self._idle_s, self._act)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """It does not go off, unless it does so just now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
