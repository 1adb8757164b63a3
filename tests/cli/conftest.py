"""The command line over the fake."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.doors import Door
from tests.faces import FakeFace


@pytest.fixture
def tidemark() -> Door:
    return Door(FakeFace.sample())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "counts.py"
    path.write_text("print('counts')\n")
    return path
