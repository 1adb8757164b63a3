"""Spark processes that are up before the next job begins: which kinds are likely to be needed, and when one is started.

A server begins with some for jobs without confs of their own, once it has looked at all jobs; one that takes over a while later. A job
that has begun, or failed and waits for its restart, has another one of its kind follow: the next one to begin is likely to be a fork of it,
or itself. The pool ends those that nobody has needed for a while, and is looked after here: a process that has grown beyond the bound on
their memory ends, though nobody asks for another one.
"""

from __future__ import annotations

import math
import time

from pipelines.domain.masters import DEFAULT
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.runtimes import OWN, Runtime
from pipelines.sandbox.pool import Pool

AFTER_S = 20.0
"""After a job has begun, whose first batches need the processors more, or a workspace was taken over."""
MEASURED_EVERY_S = 5.0


class Warmth:
    """Keeps processes warm in a server's pool."""

    def __init__(self, pool: Pool, after_s: float = AFTER_S) -> None:
        self._pool = pool
        self._after_s = after_s
        self._due: list[tuple[float, Runtime, RunSpec]] = []
        self._measured_s = 0.0
        self._begins_s = math.inf

    def begin(self, *, takes_over: bool) -> None:
        """What a server begins with is warmed up from the next tick on, or a while later: who takes over has no processor to spare."""
        if self._pool.drivers:
            self._begins_s = time.monotonic() + (self._after_s if takes_over else 0)

    def began(self, runtime: Runtime, spec: RunSpec) -> None:
        """A job has begun: another process of its kind is warmed up in a while."""
        if self._pool.drivers:
            self._due = [(time.monotonic() + self._after_s, runtime, spec)]

    def fails(self, runtime: Runtime, spec: RunSpec) -> None:
        """A job is about to begin again."""
        if self._pool.drivers:
            self._pool.expect(runtime, spec.master, spec.conf)

    def tick(self) -> None:
        """Warms up what is due, and ends what takes too much memory."""
        if time.monotonic() - self._measured_s >= MEASURED_EVERY_S:
            self._measured_s = time.monotonic()
            self._pool.keep_within()
        if self._begins_s <= time.monotonic():
            self._begins_s = math.inf
            self._pool.expect(OWN, DEFAULT, {}, self._pool.drivers)
        if self._due and self._due[0][0] <= time.monotonic():
            _, runtime, spec = self._due.pop()
            self._pool.expect(runtime, spec.master, spec.conf)
