"""Warm Spark processes in tests."""

from __future__ import annotations

import os

from pipelines.sandbox.pool import DRIVERS_VARIABLE, LITTLE_BYTES, MOST_BYTES, MOST_VARIABLE

USUAL = MOST_BYTES
"""The bound of a test's pool that says so: that of a server with enough memory."""
ONE = LITTLE_BYTES
"""The bound of a pool that has one process."""


def none_unasked() -> None:
    """Servers of tests keep no warm processes: each is warmed up by a query of its own, is done with a user's code after one task, and
    the next one takes its place, which most tests end before it is asked for anything. A test of warm ones opens its pool with a bound."""
    os.environ.setdefault(MOST_VARIABLE, "0")
    os.environ.setdefault(DRIVERS_VARIABLE, "0")


def one_environment() -> None:
    """Takes pytest's note of the present test out of the environment: a warm process serves the environment that it was started in."""
    os.environ.pop("PYTEST_CURRENT_TEST", None)
