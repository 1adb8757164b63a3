"""The lease of a run whose checkpoints lie at a home: a file there that it renews, and an end where it no longer can.

Who sees the file unchanged for a whole period, by a clock of its own, may have it; the holder
has ended by then, whatever became of it: at 85 % of the period the driver ends its JVM and itself, at 95 % the JVM does it alone. So no
batch is committed under a lease that another has, and neither clock is asked what time it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.home_leases import FIRED, NO_LEASE, HomeLease, leased, lost, parsed, patience_s
from pipelines.domain.job_places import is_hdfs
from pipelines.domain.numbered_leases import Content
from pipelines.domain.renewals import GIVEN_UP, Renewals
from pipelines.driver.records import say

LOOKS, LOOK_S = 10, 1.0
"""In the period for which another's lease is watched, and the longest time between two of them."""
RELEASE_S = 20.0
"""How long a release waits for a renewal under way."""


class Conditional(Protocol):
    """A file that is read and written as `lease_file.LeaseFile` and `numbered_leases.NumberedLease` are."""

    def read(self) -> Content | None: ...

    def write(self, text: str, over: Content | None) -> bool: ...


class Switch(Protocol):
    """What ends the process that writes, as `dead_mans_switch.DeadMansSwitch` does."""

    def arm(self, seconds: float) -> None: ...

    def disarm(self) -> None: ...


class HeldLease:
    """The lease `mine` in `folder`, once it was taken. `on_loss` is called once at most, with the reason, from a thread of its own."""

    def __init__(
        self,
        folder: str,
        file: Conditional,
        switch: Switch,
        mine: HomeLease,
        now_ms: Callable[[], int],
        is_gone: Callable[[HomeLease], bool],
        on_loss: Callable[[TidemarkError], None],
    ) -> None:
        self._folder = folder
        self._file = file
        self._mine = mine
        self._now_ms = now_ms
        self._is_gone = is_gone
        self._on_loss = on_loss
        self._switch = switch
        self._content: Content | None = None
        self._renewals = Renewals(mine.period_s, self, boot_s)

    def take(self) -> None:
        """1. Look. 2. Watch what another has. 3. Write over what was seen. 4. Keep it. Raises Conflict (`checkpoint.leased`)."""
        over = self._free(self._file.read())
        begun_s = boot_s()
        written = self._file.write(self._mine.text, over)
        there = self._file.read()
        if not written or not self._is_mine(there):
            raise leased(self._folder, parsed(there.text) if there else None)
        self._arm(begun_s)
        self._content = there
        self._renewals.begin(begun_s)

    def conditions_hold(self) -> bool:
        """Whether the store refuses to create what is there: some pass over conditions that they do not know."""
        return not self._file.write(self._mine.text, None)

    def release(self) -> None:
        """Says that it is free, where the storage answers; else it gives way after its period."""
        self._renewals.end()
        self._renewals.settled(RELEASE_S)
        self._switch.disarm()
        try:
            self._file.write(self._mine.renewed(self._now_ms(), released=True).text, self._content)
        except OSError as error:
            say(f"the lease in {self._folder} could not be given back: {error}; it gives way after {self._mine.period_s:g} s")

    def _free(self, seen: Content | None) -> Content | None:
        """What may be written over: nothing, what its holder gave back, or did not renew for its whole period."""
        theirs = parsed(seen.text) if seen else None
        if seen is None or (theirs is not None and self._gives_way(theirs)):
            return seen
        wait_s = patience_s(theirs)
        pause_s = min(wait_s / LOOKS, LOOK_S)
        say(f"run {theirs.run if theirs else '?'} has the lease in {self._folder}: watching for {wait_s:g} s whether it is renewed")
        deadline = boot_s() + wait_s
        while True:
            time.sleep(pause_s)
            looked_s = boot_s()
            now = self._file.read()
            if now != seen:
                return self._changed(now)
            if looked_s >= deadline or (theirs is not None and self._is_gone(theirs)):
                say("it was not renewed, or its holder is gone: it gives way")
                return seen

    def _changed(self, now: Content | None) -> Content | None:
        lease = parsed(now.text) if now else None
        if now is None or (lease is not None and lease.released):
            return now
        raise leased(self._folder, lease)

    def _gives_way(self, theirs: HomeLease) -> bool:
        return theirs.released or self._is_gone(theirs)

    def _is_mine(self, there: Content | None) -> bool:
        lease = parsed(there.text) if there else None
        return lease is not None and lease.holder == self._mine.holder

    def renew(self, begun_s: float) -> bool:
        """False where something else is there. An earlier renewal that nobody heard of may be: then it is written over."""
        self._mine = self._mine.renewed(self._now_ms())
        written = self._file.write(self._mine.text, self._content)
        there = self._file.read()
        if not self._is_mine(there):
            return False
        self._content = there
        if not written:
            return self.renew(begun_s)
        self._arm(begun_s)
        return True

    def failed(self, error: OSError) -> None:
        say(f"the lease in {self._folder} could not be renewed: {error}")

    def taken(self) -> None:
        self._lose("was taken by another driver, or deleted")

    def aged(self, share: float) -> None:
        if share >= GIVEN_UP:
            self._lose(f"could not be renewed for {GIVEN_UP * self._mine.period_s:g} s")

    def _arm(self, begun_s: float) -> None:
        """The lease holds for a period from `begun_s`; the JVM ends a little before that."""
        if not self._renewals.ended:
            self._switch.arm(begun_s + FIRED * self._mine.period_s - boot_s())

    def _lose(self, why: str) -> None:
        if self._renewals.end():
            self._on_loss(lost(self._folder, why))


def unreachable(folder: str, error: OSError) -> Unavailable:
    hint = "See whether the storage answers, and whether the job may write there."
    if not is_hdfs(folder):
        hint += " One that knows no conditional writes is used without a lease: --conf spark.hadoop.fs.s3a.create.conditional.enabled=false"
    return Unavailable(NO_LEASE, f"No lease could be taken in {folder}: {error}", hint)


def boot_s() -> float:
    """Seconds by a clock that nobody sets, and that goes on while a machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
