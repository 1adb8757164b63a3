"""Waiting for conditions instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(true: Callable[[], object], seconds: float = 400.0, *, what: str = "it did not come true", every: float = 0.05) -> None:
    """Waits for a condition; fails with `what` when it has not come true after `seconds`."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(every)
