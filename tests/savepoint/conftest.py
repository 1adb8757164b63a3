from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.savepoint import golden
from tests.savepoint.golden import Bench


@pytest.fixture(autouse=True)
def _no_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed loses nothing that it has written: waiting for the disk would only make the tests slow."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return golden.bench(tmp_path)
