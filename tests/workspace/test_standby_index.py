"""The folder of a standby's index: gone with it, and gone with the next one where it was killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pipelines.workspace import standby_index

HOLDS = """
import tempfile, time
from pipelines.workspace import standby_index
tempfile.tempdir = {there!r}
with standby_index.folder() as folder:
    print(folder, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_standby_left_goes_and_what_a_living_one_has_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", HOLDS.format(there=str(tmp_path))], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        (theirs / "catalog.duckdb").touch()
        with standby_index.folder() as mine:
            assert theirs.is_dir() and mine.is_dir()
        assert theirs.is_dir() and not mine.exists()
        other.kill()
    with standby_index.folder():
        assert not theirs.exists()
    assert list(tmp_path.iterdir()) == []
