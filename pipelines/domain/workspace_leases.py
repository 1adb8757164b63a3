"""The lease of a workspace: which process has it, on whatever host. Pure.

On one host the lock on the catalog's file tells whether the process that has the lease lives. Who is on another host watches for one
period, by a clock of its own, whether the lease is renewed: no clocks of two hosts are compared, and times in it are for people alone.
"""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass

from pipelines.domain.errors import Unavailable
from pipelines.domain.home_leases import LONGEST_S
from pipelines.domain.hosts import Host
from pipelines.domain.json_text import read_json

PERIOD_VARIABLE = "TIDEMARK_WORKSPACE_LEASE_S"
PERIOD_S = 20.0
SHORTEST_S = 1.0
DOUBTED = 0.6
"""Of the period since the last renewal began: from then on nothing is changed until one succeeds."""
UNRENEWED, LOCKED = "workspace.lease_unrenewed", "catalog.locked"


@dataclass(frozen=True)
class WorkspaceLease:
    """The content of a lease."""

    holder: str
    """Of one opening, unlike any other."""
    host: Host
    period_s: float
    """Without a renewal for so long it gives way."""
    since_ms: int
    released: bool = False

    @property
    def text(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"


class Standing(enum.Enum):
    """How a lease stands, as seen by who wants it."""

    BY_LOCK = "whoever gets the lock on the catalog may have it"
    HELD = "another host may have it"
    LAPSED = "it was not renewed for its whole period"


def standing(lease: WorkspaceLease | None, unchanged_s: float, *, is_near: bool) -> Standing:
    """`is_near`: whether the lock says for certain that the holder is gone."""
    if lease is not None and lease.released:
        return Standing.BY_LOCK
    if unchanged_s >= (lease.period_s if lease is not None else PERIOD_S):
        return Standing.LAPSED
    return Standing.BY_LOCK if is_near else Standing.HELD


def parsed(text: str) -> WorkspaceLease | None:
    """The lease that `text` describes; None where it describes none, which then is nobody's that could be named."""
    try:
        raw = read_json(text)
        host = Host(*(str(raw["host"][part]) for part in ("name", "boot", "pids")))
        period_s = min(max(float(raw["period_s"]), SHORTEST_S), LONGEST_S)
        return WorkspaceLease(str(raw["holder"]), host, period_s, int(raw["since_ms"]), raw["released"] is True)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def held(root: str, lease: WorkspaceLease | None) -> Unavailable:
    """What is told who wants a workspace that another has."""
    where = f"on {lease.host.name}" if lease is not None else "on a host whose name cannot be read"
    message = f"A process {where} has the workspace {root}, and renews its lease"
    return Unavailable(LOCKED, message, "Ask the server there, or stand by (--standby): a lease that is not renewed gives way.")


def unrenewed(root: str, why: str) -> Unavailable:
    """What is told who wants something changed while the lease is in doubt."""
    message = f"The lease of the workspace {root} could not be renewed in time{why and f': {why}'}"
    return Unavailable(
        UNRENEWED, message, "Nothing is changed until it is. See whether the workspace's disk answers and can be written to."
    )


def lost(root: str) -> Unavailable:
    """What is told who wants something changed once another has the lease."""
    return Unavailable(
        UNRENEWED, f"Another process has taken the workspace {root}: this one changes nothing any more", "Ask the other one."
    )
