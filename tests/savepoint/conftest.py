from __future__ import annotations

from pathlib import Path

import pytest

from tests.savepoint import golden
from tests.savepoint.golden import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return golden.bench(tmp_path)
