"""Changes of savepoints and jobs whose server is killed before each thing that they do to the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.test_crash import CHANGES, kill_at_steps

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("change", CHANGES)
def test_all_is_as_it_was_or_whole(change: str, tmp_path: Path) -> None:
    kill_at_steps(change, tmp_path, lambda most: range(1, most + 1))
