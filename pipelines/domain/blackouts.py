"""Blackout windows: stretches of the day, on all days or some, in which nothing is done by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.domain.errors import Invalid

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MINUTES = 1_440
_WINDOW = re.compile(r"(?:(?P<days>[a-z,-]+) )?(?P<begin>\d\d:\d\d)-(?P<end>\d\d:\d\d)")


@dataclass(frozen=True)
class Window:
    """A blackout window: days on which it begins (0 is Monday), minutes of the day; one that ends before it begins goes on to the next
    day."""

    days: frozenset[int]
    begin: int
    end: int

    @property
    def minutes(self) -> int:
        """How long it lasts in all."""
        return (self.end - self.begin) % DAY_MINUTES or DAY_MINUTES

    def minutes_left(self, weekday: int, minute: int) -> int:
        """How long it still lasts at that minute of the day; 0 outside of it."""
        if self.begin < self.end:
            return self.end - minute if weekday in self.days and self.begin <= minute < self.end else 0
        if weekday in self.days and minute >= self.begin:
            return DAY_MINUTES - minute + self.end
        return self.end - minute if (weekday - 1) % 7 in self.days and minute < self.end else 0


def window(text: str) -> Window:
    """`22:00-06:00`, `Mon-Fri 08:00-10:00`, `Sat,Sun 00:00-24:00`; Invalid (`schedule.blackout`) for anything else."""
    match = _WINDOW.fullmatch(" ".join(text.lower().split()))
    begin, end = (_minute(match[name]) for name in ("begin", "end")) if match else (None, None)
    days = _days(match["days"]) if match else frozenset[int]()
    if begin is None or end is None or begin in (end, DAY_MINUTES) or not days:
        hint = "Write 22:00-06:00, or with days Mon-Fri 08:00-10:00 or Sat,Sun 00:00-24:00."
        raise Invalid("schedule.blackout", f"{text!r} is no blackout window", hint)
    return Window(days, begin, end)


def _minute(text: str) -> int | None:
    hour, minute = map(int, text.split(":"))
    of_day = hour * 60 + minute
    return of_day if minute < 60 and of_day <= DAY_MINUTES else None


def _days(text: str | None) -> frozenset[int]:
    """Numbers of the days named; none where a name is no day."""
    if text is None:
        return frozenset(range(7))
    days: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            return frozenset()
        begin, end = DAYS.index(first), DAYS.index(last or first)
        days |= {day % 7 for day in range(begin, (end if end >= begin else end + 7) + 1)}
    return frozenset(days)
