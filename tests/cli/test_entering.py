"""The command line from a Python that has none of what Tidemark needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BARE = [sys.executable, "-S", "-E", "-m", "pipelines", "--version"]
"""`-S` leaves site-packages out: what a system's Python looks like."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of a clone as the entrance needs."""
    (tmp_path / "pipelines").mkdir()
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(ROOT / "pipelines" / name, tmp_path / "pipelines" / name)
    return tmp_path


def test_an_unprepared_environment_is_said(clone: Path) -> None:
    ended = subprocess.run(BARE, cwd=clone, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "error: Tidemark's environment is not prepared\nhint: Run python3 -m dashboard once; it prepares .venv.\n"


def test_the_prepared_environment_is_entered(clone: Path) -> None:
    python = clone / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho entered "$@"\n')
    python.chmod(0o755)
    ended = subprocess.run(BARE, cwd=clone, capture_output=True, text=True, check=True)
    assert ended.stdout == "entered -m pipelines --version\n"
