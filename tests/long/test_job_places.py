"""A job at a home goes on in every way, in a bucket, in HDFS and on another disk; `test_job_places_exact.py` tries each in one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workspace.serving import Server
from tests.workspace.test_job_places_exact import WAYS, Home, home, is_exact, server

__all__ = ["home", "server"]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(2400), pytest.mark.usefixtures("kept_jvms")]


def test_a_job_at_a_home_goes_on_in_every_way(spark: Any, server: Server, home: Home, tmp_path: Path) -> None:
    is_exact(spark, server, home, tmp_path, WAYS)
