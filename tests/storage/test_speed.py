"""What cloning costs: by the file, not by the byte."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Clone, How

pytestmark = pytest.mark.bench


def test_fifty_thousand_links_take_two_seconds_of_cpu(tmp_path: Path) -> None:
    for partition in range(200):
        folder = tmp_path / f"a/state/0/{partition}"
        folder.mkdir(parents=True)
        for version in range(250):
            (folder / f"{version}.changelog").touch()
    source, target = LocalStorage(tmp_path / "a"), LocalStorage(tmp_path / "b")
    files = [Clone(entry.path, entry.path) for entry in source.list()]
    began = time.process_time()
    how = target.clone(source, files)
    took = time.process_time() - began
    assert set(how) == {How.LINK}
    assert len(files) == 50_000
    assert took < 2, f"{took:.2f} s"
