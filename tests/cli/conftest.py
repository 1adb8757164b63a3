"""The command line over the fake."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.cli.follow import LEAVING
from tests.cli.doors import Door
from tests.faces import FakeFace


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Signals are a command's own, as in a process of its own: PySpark takes Ctrl-C for itself, what runs in the background ignores it,
    and under `nohup` a terminal that closes is ignored, too."""
    handlers = {number: signal.signal(number, usual) for number, usual in LEAVING.items()}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def tidemark() -> Door:
    return Door(FakeFace.sample())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "counts.py"
    path.write_text("print('counts')\n")
    return path
