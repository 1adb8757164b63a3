"""Requests that nobody let in: counted, and written into the audit once a minute at most, for anybody can send them."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

from pipelines.domain.audit import Call, Record, Result

EVERY_S = 60.0
ENTER = "enter"
"""What they tried, as the audit calls it."""


class Strangers:
    """Counts refusals, in the server's own thread. The first is a line at once; what comes within a minute of a line is one line itself,
    written with the next one after that minute, or at the end."""

    def __init__(self, record: Record, clock: Callable[[], float] = time.monotonic) -> None:
        self._record, self._clock = record, clock
        self._count, self._origin, self._code = 0, "", ""
        self._written_s = -EVERY_S

    async def refused(self, code: str, origin: str) -> None:
        """One more, refused with this error's code, from this address."""
        self._count, self._origin, self._code = self._count + 1, origin, code
        if self._clock() - self._written_s >= EVERY_S:
            await run_in_threadpool(self._record, self._counted())

    def end(self) -> None:
        """Writes down what was counted since the last line."""
        if self._count:
            self._record(self._counted())

    def _counted(self) -> Call:
        requests = "1 request" if self._count == 1 else f"{self._count} requests, the last from here"
        self._count, self._written_s = 0, self._clock()
        return Call(ENTER, requests, Result.REFUSED, self._code, origin=self._origin)
