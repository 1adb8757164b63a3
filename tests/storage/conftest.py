from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system than `tmp_path`: between the two nothing can be linked."""
    others = [disk for disk in (Path("/dev/shm"), Path("/var/tmp")) if disk.is_dir() and disk.stat().st_dev != tmp_path.stat().st_dev]
    if not others:
        pytest.skip("needs a second file system at /dev/shm; mount one: mount -t tmpfs tmpfs /dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="tidemark-", dir=others[0]))
    yield folder
    shutil.rmtree(folder)
