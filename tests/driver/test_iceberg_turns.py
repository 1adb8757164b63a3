"""What is left to do of a turn of an Iceberg branch, before and after a crash in the middle."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain import iceberg as domain
from pipelines.domain.iceberg_turns import Kind, Step, Turn, hindrance, step
from tests.iceberg import QUERY, TABLE, metadata, snapshot

BEGUN = [snapshot(1, None, 0), snapshot(2, 1, 1), snapshot(3, 2, 2)]
FORK = Turn(1, Kind.FORK, TABLE, "b", 2)
FRESH = Turn(1, Kind.FRESH, TABLE, "b", 3)
BACK = Turn(1, Kind.BACK, TABLE, "main", 2, QUERY, 1, 2)
ADOPT = Turn(1, Kind.ADOPT, TABLE, "main", 4, QUERY, 2, 2)
OF_FORK = snapshot(4, 2, 2, query="fork")
EMPTIED = snapshot(5, 3, operation="delete")
CASES: dict[str, tuple[Turn, list[dict[str, Any]], dict[str, int], Step | str]] = {
    "a fork": (FORK, [], {"main": 3}, Step.CREATE),
    "a fork whose driver crashed": (FORK, [], {"main": 3, "b": 2}, Step.NOTHING),
    "a fork of a taken name": (FORK, [OF_FORK], {"main": 3, "b": 4}, "has a branch b already"),
    "a fresh one": (FRESH, [], {"main": 3}, Step.CREATE),
    "a fresh one that is not empty yet": (FRESH, [], {"main": 3, "b": 3}, Step.NOTHING),
    "a fresh one that is": (FRESH, [EMPTIED], {"main": 3, "b": 5}, Step.NOTHING),
    "a fresh one of a taken name": (FRESH, [snapshot(5, 3, 3, query="older")], {"main": 3, "b": 5}, "has a branch b already"),
    "back": (BACK, [], {"main": 3}, Step.SET),
    "back, done": (BACK, [], {"main": 2}, Step.NOTHING),
    "back, others wrote": (BACK, [snapshot(4, 3)], {"main": 4}, "others changed its rows in snapshot 4"),
    "adopted": (ADOPT, [OF_FORK], {"main": 3, "b": 4}, Step.SET),
    "adopted, done": (ADOPT, [OF_FORK], {"main": 4, "b": 4}, Step.NOTHING),
    "adopted, expired": (ADOPT, [], {"main": 3}, "snapshot 4 has expired"),
}


@pytest.mark.parametrize(("turn", "more", "branches", "expected"), CASES.values(), ids=CASES.keys())
def test_the_step_or_the_reason(turn: Turn, more: list[dict[str, Any]], branches: dict[str, int], expected: Step | str) -> None:
    table = domain.table_of(metadata(*BEGUN, *more, **branches))
    why = hindrance(table, turn)
    assert expected in why if not isinstance(expected, Step) else (why, step(table, turn)) == ("", expected)


def test_another_table_is_never_touched() -> None:
    table = domain.table_of({**metadata(*BEGUN, main=3), "table-uuid": "another"})
    assert {hindrance(table, turn) for turn in (FORK, FRESH, BACK, ADOPT)} == {"another table is there"}
