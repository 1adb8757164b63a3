"""Waiting for conditions instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE = 9
"""How much longer than it took to ask there is no asking: what is waited for needs the processor more."""


def until(true: Callable[[], object], seconds: float = 400.0, *, what: str = "it did not come true", every: float = 0.05) -> None:
    """Waits for a condition; fails with `what` when it has not come true after `seconds`."""
    end = time.monotonic() + seconds
    asked = time.monotonic()
    while not true():
        now = time.monotonic()
        assert now < end, what
        time.sleep(max(every, PAUSE * (now - asked)))
        asked = time.monotonic()
