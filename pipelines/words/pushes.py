"""Receivers of a server's metrics in words."""

from __future__ import annotations

from pipelines.domain.pushes import Push
from pipelines.words import formats

NOWHERE = "nowhere; /metrics has them"


def state(push: Push, now_ms: float) -> str:
    """Whether figures arrive: `arrived 5 s ago`, `does not arrive, last 3 min ago`, `not yet`."""
    if push.is_away:
        return "does not arrive" + (f", last {formats.ago(push.pushed_ms, now_ms)}" if push.pushed_ms else "")
    return f"arrived {formats.ago(push.pushed_ms, now_ms)}" if push.pushed_ms else "not yet"


def last_error(push: Push, now_ms: float) -> str:
    """The last error and when that was; empty where there was none."""
    return f"{push.error} ({formats.ago(push.failed_ms, now_ms)})" if push.error else ""


def line(push: Push, now_ms: float) -> str:
    """All of it: where to, how often, whether it arrives, the last error."""
    error = last_error(push, now_ms)
    parts = (f"{push.kind} {push.address}", f"every {formats.duration(push.every_s * 1_000)}", state(push, now_ms))
    return ", ".join(parts) + (f"; last error: {error}" if error else "")
