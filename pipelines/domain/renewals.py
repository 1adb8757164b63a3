"""Renewals of a lease: one thread renews it several times in its period, another measures how long none has succeeded.

A renewal counts from when it was asked for. A storage that hangs holds up the first thread alone: whether the holder may act is a matter of
its clock, which nobody sets and which goes on while the machine sleeps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

RENEWALS = 4
"""In a period."""
TICKS = 40
"""In a period: how often the holder looks at its clock."""
GIVEN_UP = 0.85
"""Of the period since the last renewal began: the holder ends. The rest is for clocks that run at unlike speeds."""


class Holder(Protocol):
    """Who has the lease."""

    def renew(self, begun_s: float) -> bool:
        """False where it is another's. Raises OSError where the storage does not take it."""
        ...

    def failed(self, error: OSError) -> None:
        """A renewal did not succeed."""
        ...

    def taken(self) -> None:
        """Another has it."""
        ...

    def aged(self, share: float) -> None:
        """This part of the period has passed since the last renewal that succeeded; said at each tick."""
        ...


class Renewals:
    """Those of one holder, from `begin` to `end`."""

    def __init__(self, period_s: float, holder: Holder, clock_s: Callable[[], float]) -> None:
        self._period_s, self._holder, self._clock_s = period_s, holder, clock_s
        self._begun_s = 0.0
        """When the last renewal that succeeded was asked for."""
        self._closed = threading.Event()
        self._turn = threading.Lock()
        """Of who ends it."""
        self._renewing = threading.Thread(target=self._keep, name="tidemark-lease", daemon=True)

    @property
    def ended(self) -> bool:
        return self._closed.is_set()

    def begin(self, begun_s: float) -> None:
        """The lease was asked for then, and is the holder's."""
        self._begun_s = begun_s
        self._renewing.start()
        threading.Thread(target=self._watch, name="tidemark-lease-end", daemon=True).start()

    def share(self) -> float:
        """Which part of the period has passed since the last renewal that succeeded."""
        return (self._clock_s() - self._begun_s) / self._period_s

    def end(self) -> bool:
        """Whether nobody had ended it before."""
        with self._turn:
            was_open = not self._closed.is_set()
            self._closed.set()
            return was_open

    def settled(self, seconds: float) -> bool:
        """Whether no renewal is under way any more, after so long at most."""
        self._renewing.join(seconds)
        return not self._renewing.is_alive()

    def _keep(self) -> None:
        while not self._closed.wait(self._period_s / RENEWALS):
            begun_s = self._clock_s()
            try:
                if self._holder.renew(begun_s):
                    self._begun_s = begun_s
                else:
                    self._holder.taken()
            except OSError as error:
                self._holder.failed(error)

    def _watch(self) -> None:
        while not self._closed.wait(self._period_s / TICKS):
            self._holder.aged(self.share())
