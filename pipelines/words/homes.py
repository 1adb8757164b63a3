"""Homes of savepoints, in words."""

from __future__ import annotations

from pipelines.domain.homes import USUAL, WORKSPACE, HomeCheck, TriedStep
from pipelines.words import formats, plans

NAMES = {WORKSPACE: "the workspace", USUAL: "where the other jobs have theirs"}


def place(home: str) -> str:
    """The URL, or the workspace."""
    return NAMES.get(home, home)


def step(tried: TriedStep) -> str:
    """How one step went."""
    if tried.failed:
        return f"fails: {tried.failed}"
    return f"works, {formats.duration(tried.took_ms)}{f', {plans.way(tried.how)}' if tried.how else ''}"


def verdict(check: HomeCheck) -> str:
    """Whether savepoints can be kept there."""
    return "Savepoints cannot be kept here" if check.failed else "Savepoints can be kept here"
