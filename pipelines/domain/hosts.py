"""Hosts: machines and containers. A pid, a cgroup or an address on loopback means something on the host that noted it alone. Pure.

Servers of several hosts may share a workspace, one after the other: what one has noted of its own processes the next one finds.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

BOOT_FILE = "/proc/sys/kernel/random/boot_id"
"""Linux's name of this boot of this machine."""
LOST = "host.lost"
"""The error class of a run whose driver was another host's, which may live."""


@dataclass(frozen=True)
class Host:
    """Where processes are counted."""

    name: str = ""
    """As people call it."""
    boot: str = ""
    """Linux's name of the boot; empty on a system that has none."""
    pids: str = ""
    """Linux's name of the namespace in which pids are counted: containers of one machine have one each."""


class Place(enum.StrEnum):
    """Where a process is, as seen from a host."""

    HERE = "here"
    BEFORE = "before"
    """On this host before it was booted anew: it is gone."""
    ELSEWHERE = "elsewhere"
    """Where its pid means nothing to this host."""


def place_of(known: Host | None, here: Host) -> Place:
    """Where what was noted on `known` is, seen from `here`. None was noted when a workspace was one machine's."""
    if known is None or not known.name:
        return Place.HERE
    if not known.boot or not here.boot:
        return Place.HERE if known.name == here.name else Place.ELSEWHERE
    if known.boot == here.boot:
        return Place.HERE if known.pids == here.pids else Place.ELSEWHERE
    return Place.BEFORE if known.name == here.name else Place.ELSEWHERE


def is_certain(known: Host, here: Host, *, disk_is_shared: bool) -> bool:
    """Whether a lock that a process of `known` had, and that is free now, says for certain that this process is gone.

    One kernel answers for all of its containers, and a disk that only one host has at a time for all hosts before. A file server also takes
    the locks of a host away that it has not heard of for long: such a host may live, and come back.
    """
    return not disk_is_shared or (bool(known.boot) and known.boot == here.boot)
