"""Savepoints at a home, each store at the one where `tests/workspace/test_homes_exact.py` has another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workspace.conftest import House, house
from tests.workspace.test_homes_exact import is_exact

__all__ = ["house"]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1200)]


@pytest.mark.parametrize(("store", "home", "copied"), [("format2", "s3", "server-copy"), ("hdfs", "hdfs", "copy")])
def test_a_fork_of_a_savepoint_beside_a_checkpoint_at_a_home_is_exact(
    store: str, home: str, copied: str, spark: Any, house: House, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    is_exact(store, request.getfixturevalue(f"{home}_url"), copied, spark, house, tmp_path)
