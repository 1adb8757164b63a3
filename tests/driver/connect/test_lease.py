"""The lease of a client's checkpoint: the same file that a JVM would lock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.driver.connect.lease import ClientLeases
from pipelines.driver.lease import PATIENCE_VARIABLE
from pipelines.driver.records import Records

HOLDS = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def leases(tmp_path: Path) -> ClientLeases:
    spec = RunSpec(SPEC_FORMAT, RunId("r-1"), JobName("job"), VersionId("v-1"), "", (), {}, "", str(tmp_path), "")
    return ClientLeases(spec, Records(tmp_path, lambda: 1_700_000_000_000))


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Callable[[], object]]:
    """Another process has the lease of query `q`."""
    lock = tmp_path / ".leases" / "q.lock"
    lock.parent.mkdir()
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        yield other.communicate


def test_a_lease_is_taken_once_and_says_by_whom(leases: ClientLeases, tmp_path: Path) -> None:
    leases.take("q", tmp_path)
    leases.take("q", tmp_path)
    assert '"run": "r-1"' in (tmp_path / ".leases" / "q.json").read_text()


def test_one_that_another_process_has_is_refused(
    leases: ClientLeases, held: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PATIENCE_VARIABLE, "0")
    with pytest.raises(Conflict, match="Another process works on query q's checkpoint") as refused:
        leases.take("q", tmp_path)
    assert refused.value.code == "checkpoint.leased"
    held()
    leases.take("q", tmp_path)
