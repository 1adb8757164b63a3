"""Jobs of the Sparks between go on under ours and back: each needs an environment of 500 MB."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import runtimes
from tests.workspace.serving import serving
from tests.workspace.test_runtimes_exact import goes_both_ways

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("version", ["4.0.1", "4.2.1"])
@pytest.mark.parametrize("state_format", [1, 2])
def test_a_job_goes_on_under_ours_and_back(version: str, state_format: int, tmp_path: Path) -> None:
    """Snapshots of format 2 get the version that the other Spark reads, on each way."""
    with serving(tmp_path / "ws") as server:
        goes_both_ways(server, tmp_path / "in", runtimes.python(version), version, state_format)
