"""Where a server pushes its metrics to, and whether they arrive."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Push:
    """A receiver of metrics, as of its newest push."""

    kind: str
    """`OTLP` or `StatsD`."""
    address: str
    """Without password and query."""
    every_s: float
    pushed_ms: int | None = None
    """When figures last arrived, epoch ms; of StatsD over UDP: when they were last sent and nothing refused them."""
    error: str = ""
    """The last error; it stays when figures arrive again."""
    failed_ms: int | None = None
    """When that was, epoch ms."""
    is_away: bool = False
    """Whether the newest push failed."""

    def arrived(self, now_ms: int) -> Push:
        return replace(self, pushed_ms=now_ms, is_away=False)

    def failed(self, now_ms: int, error: str) -> Push:
        return replace(self, failed_ms=now_ms, error=error, is_away=True)
