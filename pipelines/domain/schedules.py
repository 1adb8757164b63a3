"""Schedules: when savepoints are taken and proved by themselves, and how many are kept. A job's own is laid over the workspace's."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pipelines.domain.bounds import Count, Moment
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import JobName, SavepointId

LEAST_EVERY_MS = 10_000
LONGEST_MS = 366 * 86_400_000
MOST_BLACKOUTS = 20
UTC = "UTC"
USUAL, NONE, OFF = "usual", "none", "off"
"""What brings the workspace's own back, what takes all blackout windows away, and what proves nothing."""
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MINUTES = 1_440
_WINDOW = re.compile(r"(?:(?P<days>[a-z,-]+) )?(?P<begin>\d\d:\d\d)-(?P<end>\d\d:\d\d)")


@dataclass(frozen=True)
class Times:
    """By a cron expression, or every so many ms (counted from midnight UTC); neither is never."""

    cron: str = ""
    every_ms: Count = 0

    def __bool__(self) -> bool:
        return bool(self.cron or self.every_ms)


@dataclass(frozen=True)
class Schedule:
    """None is what the workspace has. What nobody has set is: never, UTC, no blackout windows, all are kept, none is proved."""

    times: Times | None = None
    zone: str | None = None
    """Name of the time zone (`Europe/Berlin`) that the cron expression and the windows are in."""
    blackouts: tuple[str, ...] | None = None
    """`22:00-06:00`, `Mon-Fri 08:00-10:00`: times in these windows are passed over."""
    keep: Count | None = None
    """So many of the scheduled ones are kept, the newest."""
    keep_ms: Count | None = None
    """They are kept for so long."""
    keep_bytes: Count | None = None
    """They are kept while they take no more than this on disk together."""
    since_ms: Moment | None = None
    """When it was set: no time before it was missed."""
    prove_at: str | None = None
    """Cron expression of the times at which the newest scheduled savepoint is proved; empty for never."""


class Outcome(enum.StrEnum):
    """What came of a scheduled time: of a take, or of a proof."""

    TAKEN = "taken"
    UNCHANGED = "unchanged"
    """No batch was committed since the newest savepoint; the newest scheduled savepoint is proved already."""
    NOTHING = "nothing"
    """The job has committed no batch at all yet; it has no scheduled savepoint."""
    FAILED = "failed"
    PROVED = "proved"
    OPEN = "open"
    """Nothing speaks against the savepoint, but not all of it could be shown."""


@dataclass(frozen=True)
class Attempt:
    """The newest time of a schedule that was attended to."""

    due_ms: Moment
    at_ms: Moment
    outcome: Outcome
    savepoint: SavepointId | Literal[""] = ""
    """That was taken or proved, or that already holds what would have been."""
    code: str = ""
    message: str = ""
    """Why it failed, or is not proved."""


@dataclass(frozen=True)
class ScheduleState:
    """The schedule of a job, or (without a job) of the workspace."""

    job: JobName
    own: Schedule
    usual: Schedule
    """The workspace's."""
    schedule: Schedule
    """What holds: its own over the workspace's."""
    next_ms: tuple[int, ...] = ()
    """The next three times, epoch ms; they are for a job that runs then."""
    last: Attempt | None = None
    next_proof_ms: Moment | None = None
    last_proof: Attempt | None = None


@dataclass(frozen=True)
class SchedulePlan:
    """A schedule as it is, and as it will be."""

    job: JobName
    before: Schedule
    after: Schedule
    schedule: Schedule
    """What will hold: its own over the workspace's."""
    next_ms: tuple[int, ...] = ()
    next_proof_ms: Moment | None = None


@dataclass(frozen=True)
class Given:
    """What is given of a schedule; None stays as it is."""

    cron: str = ""
    every_ms: int | None = None
    off: bool = False
    usual: bool = False
    zone: str = ""
    blackouts: tuple[str, ...] = ()
    keep: int | None = None
    keep_ms: int | None = None
    keep_bytes: int | None = None
    prove_at: str = ""


@dataclass(frozen=True)
class Window:
    """A blackout window: days on which it begins (0 is Monday), minutes of the day; one that ends before it begins goes on to the next
    day."""

    days: frozenset[int]
    begin: int
    end: int

    def minutes_left(self, weekday: int, minute: int) -> int:
        """How long it still lasts at that minute of the day; 0 outside of it."""
        if self.begin < self.end:
            return self.end - minute if weekday in self.days and self.begin <= minute < self.end else 0
        if weekday in self.days and minute >= self.begin:
            return DAY_MINUTES - minute + self.end
        return self.end - minute if (weekday - 1) % 7 in self.days and minute < self.end else 0


def over(own: Schedule, usual: Schedule) -> Schedule:
    """What holds: each thing that the job's own has, else the workspace's."""
    values = {name: getattr(usual, name) if value is None else value for name, value in vars(own).items()}
    return Schedule(**{**values, "since_ms": max(own.since_ms or 0, usual.since_ms or 0) or None})


def of_proofs(schedule: Schedule) -> Schedule:
    """The schedule whose times are those of its proofs; zone and blackout windows are the same."""
    return replace(schedule, times=Times(cron=schedule.prove_at or ""))


def changed(before: Schedule, given: Given, now_ms: int) -> Schedule:
    """`before` with what is given; `before` itself where nothing differs. Raises Invalid (`schedule.several`, `schedule.interval`,
    `schedule.keep`, `schedule.blackout`); the cron expression and the zone are for who knows the calendar."""
    times = [given.cron, given.every_ms, given.off, given.usual]
    if sum(map(bool, times)) > 1:
        raise Invalid("schedule.several", "More than one of cron, every, off and usual was given", "Give one of them.")
    after = before if not given.usual else Schedule()
    if given.cron:
        after = replace(after, times=Times(cron=" ".join(given.cron.split())))
    if given.every_ms is not None:
        after = replace(after, times=_every(given.every_ms))
    if given.off:
        after = replace(after, times=Times())
    if given.zone:
        after = replace(after, zone=None if given.zone == USUAL else given.zone)
    if given.blackouts:
        after = replace(after, blackouts=_windows(given.blackouts))
    if given.prove_at:
        after = replace(after, prove_at=_proofs(given.prove_at))
    after = _kept(after, given)
    return before if after == replace(before, since_ms=after.since_ms) else replace(after, since_ms=now_ms)


def _every(every_ms: int) -> Times | None:
    if not every_ms:
        return None
    if not LEAST_EVERY_MS <= every_ms <= LONGEST_MS:
        hint = "Give an interval from 10 s to 366 days."
        raise Invalid("schedule.interval", f"Every {every_ms:,} ms is too {'often' if every_ms < LEAST_EVERY_MS else 'seldom'}", hint)
    return Times(every_ms=every_ms)


def _proofs(given: str) -> str | None:
    text = " ".join(given.split())
    return None if text == USUAL else "" if text == OFF else text


def _windows(texts: Sequence[str]) -> tuple[str, ...] | None:
    if tuple(texts) in ((USUAL,), (NONE,)):
        return None if texts[0] == USUAL else ()
    if len(texts) > MOST_BLACKOUTS:
        raise Invalid("schedule.blackout", f"There are {len(texts)} blackout windows; there may be {MOST_BLACKOUTS}", "Give fewer.")
    for text in texts:
        window(text)
    return tuple(" ".join(text.split()) for text in texts)


def _kept(after: Schedule, given: Given) -> Schedule:
    values = {name: getattr(given, name) for name in ("keep", "keep_ms", "keep_bytes") if getattr(given, name) is not None}
    if values.get("keep_ms", 0) > LONGEST_MS * 10 or min(values.values(), default=0) < 0:
        raise Invalid(
            "schedule.keep", "What is kept is from 1 on, a time at most ten years", "Give a smaller one; 0 brings the usual back."
        )
    return replace(after, **{name: value or None for name, value in values.items()})


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
