"""A commit that Spark wrote too early: taken back only where it is the newest, and only for that failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.domain.runs import EVENTS_FILE
from pipelines.driver import commits
from pipelines.driver.failures import Failure
from pipelines.driver.records import Records

SAID = "[STATE_STORE_COMMIT_VALIDATION_FAILED] State store commit validation failed for batch 5.\nExpected 2 commits but got 0."


@pytest.mark.parametrize(
    ("case", "failure", "newest", "left"),
    [
        ("the newest", Failure(commits.NOT_VALID, SAID), 5, {"4", ".4.crc"}),
        ("there is a later one", Failure(commits.NOT_VALID, SAID), 6, {"4", ".4.crc", "5", ".5.crc", "6", ".6.crc"}),
        ("it never committed", Failure(commits.NOT_VALID, SAID), 4, {"4", ".4.crc"}),
        ("another failure", Failure("OTHER", SAID), 5, {"4", ".4.crc", "5", ".5.crc"}),
        ("it does not say which", Failure(commits.NOT_VALID, "Something else."), 5, {"4", ".4.crc", "5", ".5.crc"}),
    ],
)
def test_a_commit_without_state_is_taken_back(tmp_path: Path, case: str, failure: Failure, newest: int, left: set[str]) -> None:
    log = tmp_path / "commits"
    log.mkdir()
    for batch in range(4, newest + 1):
        (log / str(batch)).write_text("v1\n{}")
        (log / f".{batch}.crc").write_text("crc")
    commits.take_back(Records(tmp_path, lambda: 1), "q", tmp_path, failure)
    assert {path.name for path in log.iterdir()} == left, case
    events = tmp_path / EVENTS_FILE
    told = [json.loads(line)["kind"] for line in events.read_text().splitlines()] if events.exists() else []
    assert told == (["commit.taken_back"] if case == "the newest" else [])


def test_a_checkpoint_that_is_not_there_is_left_alone(tmp_path: Path) -> None:
    commits.take_back(Records(tmp_path, lambda: 1), "q", tmp_path / "none", Failure(commits.NOT_VALID, SAID))
    assert list(tmp_path.iterdir()) == []
