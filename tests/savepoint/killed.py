"""Takes a savepoint in a process of its own, which SIGKILL ends at a step: `python -m tests.savepoint.killed FOLDER STEP`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.savepoint.faulty import FaultyStorage, KillsForReal, break_folders
from tests.savepoint.golden import Bench

if __name__ == "__main__":
    bench, fault = Bench(Path(sys.argv[1])), KillsForReal(int(sys.argv[2]))
    break_folders(pytest.MonkeyPatch(), fault)
    bench.take(library=FaultyStorage(bench.library, fault))
