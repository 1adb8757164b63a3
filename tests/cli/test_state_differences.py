"""`state-difference`: two points compared, as text or as JSON; a kept difference shown again."""

from __future__ import annotations

from pipelines.verbs.state_difference import CompareState
from tests.cli.doors import Door
from tests.differing import DIFFERENCE, difference

A, JOB = "sp-000000000002", "post_engagement"


def test_it_prints_counts_drift_and_examples_with_both_values(tidemark: Door) -> None:
    done = tidemark("state-difference", A, f"{JOB}@9", "--limit", "3")
    assert done.exit_code == 0, done.output
    assert tidemark.face.begun == [CompareState(A, f"{JOB}@9")]
    (table,) = difference().tables
    assert f"{table.changes.added:,} added, {table.changes.removed:,} removed, {table.changes.changed:,} changed" in done.stdout
    assert "value.views" in done.stdout and "a.views" in done.stdout.replace("a.value.views", "a.views")
    assert "not compared: counts / 1 / left: B has no such state" in done.stdout.replace(table.query, "counts")


def test_a_kept_one_is_shown_again_and_queried(tidemark: Door) -> None:
    assert tidemark.json("state-difference", DIFFERENCE)["id"] == DIFFERENCE
    rows = tidemark.json("state-difference", DIFFERENCE, "--sql", "SELECT count(*) FROM difference")["rows"]
    assert rows == [[difference().tables[0].changes.total]] and tidemark.face.begun == []
    assert tidemark("state-difference", "sd-gone").exit_code == 3
