"""The machine that is measured on."""

from __future__ import annotations

import psutil

from tests.waiting import until

AT_REST = 5.0
"""Percent of the processors, at most."""
OVER_S = 2.0


def comes_to_rest() -> None:
    """Waits until hardly anything is at work: warm Sparks, each of which takes a core for seconds as it comes, are up."""
    until(lambda: psutil.cpu_percent(OVER_S) < AT_REST, what="something is at work all the time")
