"""The truth table whole: every change is planned and run on both stores. The test that runs every time has each cause on both stores, but
of one that several queries have each query on one."""

from __future__ import annotations

import pytest

from tests.driver.planning.codes import CASES, Case
from tests.driver.planning.test_truth import Table, table
from tests.driver.planning.test_truth import test_the_verdict_on_each_change_is_the_one_that_spark_and_the_rows_give as agrees

__all__ = ["table"]
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_on_each_change_holds_on_both_stores(table: Table, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "has_turn", lambda table, case, variant: table.name == "rocksdb" or not case.rocksdb_only)
    agrees(table, case)
