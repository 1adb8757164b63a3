from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driver.process import Drivers


@pytest.fixture
def drivers(tmp_path: Path) -> Iterator[Drivers]:
    drivers = Drivers(tmp_path)
    yield drivers
    drivers.end()
