"""The command line over the fake."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.doors import Door
from tests.faces import FakeFace


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C is a command's own, as in a process of its own: PySpark takes it for itself, and what runs in the background ignores it."""
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, found)


@pytest.fixture
def tidemark() -> Door:
    return Door(FakeFace.sample())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "counts.py"
    path.write_text("print('counts')\n")
    return path
