"""Backlog in words: how much is waiting, and what comes of it."""

from __future__ import annotations

import pytest

from pipelines.domain.sources import Waiting
from pipelines.words import backlog


@pytest.mark.parametrize(
    ("waiting", "amount", "outlook", "briefly"),
    [
        (None, "–", "", "–"),
        (Waiting("rows", 0, 0.0), "none", "all that there is has been read", "none"),
        (Waiting("rows", 1_200_000, -10_000.0), "1.2M rows", "caught up in about 2m 00s", "1.2M rows, 2m 00s"),
        (Waiting("bytes", 46_000_000, 1_500_000.0), "46.0 MB", "growing by 1.5 MB/s", "46.0 MB, growing"),
        (Waiting("files", 12, None), "12 files", "", "12 files"),
        (Waiting("rows", 1_000_000, 10.0), "1.0M rows", "neither grows nor shrinks", "1.0M rows"),
        (Waiting("rows", 90_000, -1.0), "90.0k rows", "shrinking by 1 row/s, more than a day left", "90.0k rows"),
        (Waiting("rows", 80_000, -1.0), "80.0k rows", "caught up in about 22h 13m", "80.0k rows, 22h 13m"),
        (Waiting("rows", 10**12, -(10**9) / 2.0), "1.0T rows", "caught up in about 33m 20s", "1.0T rows, 33m 20s"),
        (Waiting("rows", 10**9, -400_000.0), "1.0G rows", "caught up in about 41m 40s", "1.0G rows, 41m 40s"),
    ],
)
def test_what_is_said(waiting: Waiting | None, amount: str, outlook: str, briefly: str) -> None:
    assert (backlog.amount(waiting), backlog.outlook(waiting), backlog.briefly(waiting)) == (amount, outlook, briefly)


def test_of_several_units_rows_are_said_before_bytes_and_what_waits_before_what_does_not() -> None:
    rows, size, files = Waiting("rows", 3, 0.0), Waiting("bytes", 9, 0.0), Waiting("files", 1, 0.0)
    assert backlog.main((files, size, rows)) == rows and backlog.main((files, size)) == size
    assert backlog.main((Waiting("rows", 0, 0.0), size)) == size and backlog.main(()) is None
