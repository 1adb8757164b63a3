"""How many workers a whole run has, and what a second of theirs counts."""

from __future__ import annotations

import pytest

from tests.running import workers

GIB = 1 << 30


@pytest.mark.parametrize(("cores", "gib", "expected"), [(1, 64, 1), (2, 22, 3), (2, 14, 2), (2, 1, 2), (4, 64, 6), (4, 22, 4)], ids=str)
def test_there_are_more_than_cores_where_there_is_memory_for_them(cores: int, gib: int, expected: int) -> None:
    assert workers.of_whole_run(cores, gib * GIB) == expected


@pytest.mark.parametrize(("count", "share"), [("1", 1.0), ("2", 1.0), ("3", 2 / 3), ("4", 0.5)])
def test_together_they_have_the_cores(monkeypatch: pytest.MonkeyPatch, count: str, share: float) -> None:
    monkeypatch.setenv(workers.COUNT, count)
    assert workers.share(2) == share
