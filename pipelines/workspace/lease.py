"""The lease of a workspace as a process takes and renews it: while it may have lost it, it changes nothing."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from pipelines.domain.errors import Unavailable
from pipelines.domain.home_leases import LONGEST_S
from pipelines.domain.hosts import Host, Place, is_certain, place_of
from pipelines.domain.numbered_leases import Content, Folder, NumberedLease
from pipelines.domain.renewals import GIVEN_UP, Renewals
from pipelines.domain.workspace_leases import (
    DOUBTED,
    PERIOD_S,
    PERIOD_VARIABLE,
    SHORTEST_S,
    Standing,
    WorkspaceLease,
    held,
    lost,
    parsed,
    standing,
    unrenewed,
)
from pipelines.storage import hosts
from pipelines.storage.errors import typed_errors
from pipelines.storage.layout import Layout
from pipelines.storage.lease_folder import DiskFolder

LOOK_S = 0.25
RELEASE_S = 5.0
"""How long a release waits for a renewal under way."""
log = logging.getLogger("tidemark.lease")


class Lease:
    """That of the workspace at `layout`, for one process. `ends` is called with the reason, again and again, where this process must end
    lest it acts when another does: the lease is another's, or other hosts may take it soon."""

    def __init__(self, layout: Layout, *, here: Host | None = None, is_shared: bool | None = None, folder: Folder | None = None) -> None:
        """`is_shared`: whether hosts share the workspace's disk; None finds that out."""
        self._root = layout.root
        self._file = NumberedLease(folder or DiskFolder(layout.lease), lambda: secrets.token_hex(8))
        self._mine = WorkspaceLease(secrets.token_hex(8), here or hosts.here(), period_s(), 0)
        self._shared = is_shared
        self._seen: Content | None = None
        self._since_s = 0.0
        """When `seen` was seen first."""
        self._renewals: Renewals | None = None
        self._why = ""
        """What keeps it from being renewed."""
        self._taken = False
        self._ends: Callable[[str], object] = lambda why: None

    def look(self) -> Standing:
        """How it stands now. Raises Unavailable where the disk does not answer."""
        with typed_errors(str(self._root)):
            looked_s, content = boot_s(), self._file.read()
        if content != self._seen:
            self._seen, self._since_s = content, boot_s()
        if content is None:
            return Standing.BY_LOCK
        lease = parsed(content.text)
        return standing(lease, looked_s - self._since_s, is_near=lease is not None and self._is_near(lease.host))

    def wait(self) -> None:
        """Returns once the lock on the catalog decides, or nobody has renewed it for its period. Raises Unavailable (`catalog.locked`)
        once somebody has."""
        if self.look() is not Standing.HELD:
            return
        log.warning("watching whether another host's lease of the workspace %s is renewed", self._root)
        seen = self._seen
        while (now := self.look()) is Standing.HELD:
            if self._seen != seen:
                raise self.held()
            time.sleep(LOOK_S)
        log.warning("it is not: it gives way (%s)", now.value)

    def take(self, *, has_lock: bool) -> None:
        """Makes it this process's, which has the lock on the catalog or not. Raises Unavailable: `catalog.locked` where it is another's."""
        if self.look() not in (Standing.LAPSED, *([Standing.BY_LOCK] if has_lock else [])):
            raise self.held()
        self._mine = replace(self._mine, since_ms=time.time_ns() // 1_000_000)
        with typed_errors(str(self._root)):
            begun_s = boot_s()
            written = self._file.write(self._mine.text, self._seen)
            self._seen = self._file.read()
        if not written or self._seen is None or self._seen.text != self._mine.text:
            raise self.held()
        self._taken, self._renewals = False, Renewals(self._mine.period_s, self, boot_s)
        self._renewals.begin(begun_s)

    def held(self) -> Unavailable:
        """What is told who wants it while another has it."""
        return held(str(self._root), parsed(self._seen.text) if self._seen else None)

    def check(self) -> None:
        """Raises Unavailable (`workspace.lease_unrenewed`) while this process may have lost it. Asks its clock alone."""
        if self._taken:
            raise lost(str(self._root))
        renewals = self._renewals
        if renewals is not None and renewals.share() >= DOUBTED:
            raise self._unrenewed()

    def release(self) -> None:
        """Gives it back, where the disk answers; else it gives way after its period. Nothing where it was not taken."""
        renewals, self._renewals = self._renewals, None
        if renewals is None or not renewals.end() or not renewals.settled(RELEASE_S):
            return
        try:
            self._file.write(replace(self._mine, released=True).text, self._seen)
        except OSError as error:
            log.warning("the lease of the workspace %s could not be given back: %s", self._root, error)

    def ends_with(self, ends: Callable[[str], object]) -> None:
        """From now on `ends` is called where this process must end; at once where that is so already."""
        self._is_shared()
        self._ends = ends
        if self._taken:
            self.taken()

    def renew(self, begun_s: float) -> bool:
        there = self._file.renew(self._seen) if self._seen is not None else None
        if there is not None:
            if self._why:
                log.warning("the lease of the workspace %s was renewed", self._root)
            self._seen, self._why = there, ""
        return there is not None

    def failed(self, error: OSError) -> None:
        if str(error) != self._why:
            self._why = str(error)
            log.warning("the lease of the workspace %s could not be renewed: %s", self._root, error)

    def taken(self) -> None:
        self._taken = True
        if self._renewals is not None:
            self._renewals.end()
        self._ends(lost(str(self._root)).message)

    def aged(self, share: float) -> None:
        if share >= DOUBTED and not self._why:
            self._why = "the disk does not answer"
            say_beside(logging.ERROR, self._unrenewed().message)
        if share >= GIVEN_UP and self._shared:
            self._ends(self._unrenewed().message)

    def _unrenewed(self) -> Unavailable:
        return unrenewed(str(self._root), self._why)

    def _is_near(self, host: Host) -> bool:
        """Whether a free lock of `host` says for certain that its process is gone."""
        here = self._mine.host
        return place_of(host, here) is not Place.ELSEWHERE or is_certain(host, here, disk_is_shared=self._is_shared())

    def _is_shared(self) -> bool:
        if self._shared is None:
            self._shared = hosts.is_shared(self._root)
        return self._shared


def say_beside(level: int, text: str) -> threading.Thread:
    """Into the log, in a thread: where the log is on a disk that hangs, nothing else waits for it."""
    saying = threading.Thread(target=log.log, args=(level, "%s", text), daemon=True)
    saying.start()
    return saying


def period_s() -> float:
    """How long a lease holds after its last renewal, as the environment says."""
    return min(max(float(os.environ.get(PERIOD_VARIABLE) or PERIOD_S), SHORTEST_S), LONGEST_S)


def boot_s() -> float:
    """Seconds by a clock that nobody sets, and that goes on while a machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
