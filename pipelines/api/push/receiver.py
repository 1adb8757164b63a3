"""What a receiver of metrics can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pipelines.api.metrics import Reading
from pipelines.domain.errors import Unavailable


class Receiver(Protocol):
    """Takes figures; used by one thread, closed by any."""

    def send(self, readings: Sequence[Reading]) -> None:
        """Raises Unavailable (`push.away`) where they did not arrive."""
        ...

    def close(self) -> None:
        """Ends a `send` that waits, where it can; called again once none is under way."""
        ...


def away(why: str) -> Unavailable:
    """The error of a push that did not arrive."""
    return Unavailable("push.away", why, "Look whether the receiver runs, and at the address in the server's environment.")
