"""Delta Lake and Iceberg on the Sparks on which the usual run has no such job: each needs an environment of 500 MB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import delta, iceberg, runtimes
from tests.workspace.delta_forks import fork_has_tables_of_its_own
from tests.workspace.serving import Server, serving
from tests.workspace.test_delta_source_exact import has_the_rows_of_one_that_nobody_touched
from tests.workspace.test_iceberg_exact import has_the_rows_of_a_run_that_nobody_interrupted

NEWEST = "4.2.0"
"""The newest that Delta Lake has a release for."""
MISSING = " ".join(filter(None, (*map(delta.missing, (runtimes.USUAL, runtimes.NEWER, NEWEST)), iceberg.missing(runtimes.NEWER))))
pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


@pytest.mark.parametrize("spark", [runtimes.USUAL, runtimes.NEWER, NEWEST])
def test_a_fork_has_tables_of_its_own_with_the_rows_of_one_that_nobody_interrupted(server: Server, tmp_path: Path, spark: str) -> None:
    fork_has_tables_of_its_own(server, tmp_path, spark)


@pytest.mark.parametrize("spark", [runtimes.USUAL, runtimes.NEWER, NEWEST])
def test_the_rows_are_those_of_one_that_nobody_touched(server: Server, tmp_path: Path, spark: str) -> None:
    has_the_rows_of_one_that_nobody_touched(server, tmp_path, spark)


def test_the_rows_of_every_branch_are_those_of_a_run_that_nobody_interrupted(server: Server, tmp_path: Path) -> None:
    has_the_rows_of_a_run_that_nobody_interrupted(server, tmp_path, runtimes.NEWER)
