from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.catalog.connection import Catalog
from pipelines.catalog.opening import open_catalog


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = open_catalog(tmp_path / "catalog.duckdb", memory_limit="256MB")
    yield opened
    opened.close()
