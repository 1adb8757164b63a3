"""Warm Spark processes in tests."""

from __future__ import annotations

import os


def one_environment() -> None:
    """Takes pytest's note of the present test out of the environment: a warm process serves the environment that it was started in."""
    os.environ.pop("PYTEST_CURRENT_TEST", None)
