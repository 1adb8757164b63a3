from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def other_disk(tmp_path: Path, disk_url: str) -> Path:
    """A folder on another file system than `tmp_path`: between the two nothing can be linked."""
    if Path(disk_url).stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system at /dev/shm; mount one: mount -t tmpfs tmpfs /dev/shm")
    return Path(disk_url)
