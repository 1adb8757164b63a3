"""Ranges of time as people type them, in the zone that the page is in."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from pipelines.domain.errors import Invalid
from pipelines.domain.stretches import stretch

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 22, 9, 30, 5, tzinfo=ZONE)
"""A Sunday."""


def at(day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, second, tzinfo=ZONE)


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("yesterday 03:10–03:30", at(21, 3, 10), at(21, 3, 30)),
        ("Yesterday  3:10 - 03:30:15", at(21, 3, 10), at(21, 3, 30, 15)),
        ("2026-11-21 03:10 to 03:30", at(21, 3, 10), at(21, 3, 30)),
        ("2026-11-21T03:10 to 2026-11-22T03:30", at(21, 3, 10), at(22, 3, 30)),
        ("yesterday 23:50-00:20", at(21, 23, 50), at(22, 0, 20)),
        ("friday 08:00 to now", at(20, 8), NOW),
        ("03:10–03:30", at(22, 3, 10), at(22, 3, 30)),
        ("23:10 until 23:30", at(21, 23, 10), at(21, 23, 30)),
        ("yesterday", at(21), at(22)),
        ("today", at(22), NOW),
        ("2026-11-03 to 2026-11-05", at(3), at(5)),
        ("since 03:10", at(22, 3, 10), NOW),
        ("last 3 h", at(22, 6, 30, 5), NOW),
        ("last 90min", at(22, 8, 0, 5), NOW),
        ("the last 2 days", at(20, 9, 30, 5), NOW),
        ("yesterday 03:10 for 20 minutes", at(21, 3, 10), at(21, 3, 30)),
    ],
)
def test_what_is_understood(text: str, begin: datetime, end: datetime) -> None:
    assert stretch(text, NOW) == (begin, end)


NO_RANGES = ("", "soon", "03:10", "yesterday 3 to 4", "25:00 to 26:00", "2026-13-01", "last week or so", "tomorrow", "2027-01-01")
NONE_EITHER = ("1 to 2 to 3", "2026-11-21 03:30 to 2026-11-21 03:10", "last 0 h", "last 999999 w", "yesterday 03:10 to 03:30 CET")


@pytest.mark.parametrize("text", NO_RANGES + NONE_EITHER)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        stretch(text, NOW)
    assert refused.value.code == "range.invalid" and "yesterday 03:10" in refused.value.hint
