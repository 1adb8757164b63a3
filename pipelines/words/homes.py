"""Homes of savepoints, in words."""

from __future__ import annotations

from datetime import tzinfo

from pipelines.domain.home_leases import LeaseSeen
from pipelines.domain.homes import USUAL, WORKSPACE, HomeCheck, TriedStep
from pipelines.words import formats, plans

NEW_JOBS = "checkpoints and outputs of new jobs"
NAMES = {WORKSPACE: "the workspace", USUAL: "where the other jobs have theirs"}


def place(home: str) -> str:
    """The URL, or the workspace."""
    return NAMES.get(home, home)


def lease(seen: LeaseSeen | None, now_ms: float, zone: tzinfo | None) -> str:
    """Who has a job's checkpoints at a home: `r-1 on host, renewed 4 s ago, gives way 2026-11-20 14:03:12 UTC unless it is renewed`."""
    if seen is None:
        return "none was taken yet"
    if not seen.run:
        return f"cannot be read; see {seen.place}"
    whose = f"run {seen.run} {'of this workspace ' if seen.is_own else ''}on {seen.host}"
    if seen.released:
        return f"free: given back by {whose}, {formats.ago(seen.renewed_ms, now_ms)}"
    word = "gives" if seen.until_ms is None or seen.until_ms > now_ms else "not renewed since, gave"
    until = f"{word} way {formats.exact(seen.until_ms, zone)}"
    return f"{whose}, renewed {formats.ago(seen.renewed_ms, now_ms)}, {until}{' unless renewed' if word == 'gives' else ''}"


def step(tried: TriedStep) -> str:
    """How one step went."""
    if tried.failed:
        return f"fails: {tried.failed}"
    return f"works, {formats.duration(tried.took_ms)}{f', {plans.way(tried.how)}' if tried.how else ''}"


def verdict(check: HomeCheck) -> str:
    """Whether savepoints can be kept there."""
    return "Savepoints cannot be kept here" if check.failed else "Savepoints can be kept here"
