"""The times of a schedule: cron expressions (by the library `cronsim`, whose rules for the hours that a clock change skips or repeats are
Debian's), intervals, time zones and blackout windows. The only module that knows the library."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from pipelines.domain.blackouts import Window, window
from pipelines.domain.errors import Invalid
from pipelines.domain.moments import DAY_MS
from pipelines.domain.schedules import UTC, Schedule, of_proofs, of_runs

MOST_PASSED_OVER = 1_000
"""A schedule whose next so many times all lie in blackout windows has none."""
MOST_COUNTED = 1_000
LAST_MS = 4_102_444_800_000
"""The year 2100: what would come later never comes."""
SHOWN = 3
LEAD_MS = 300_000
"""What cannot wait for the end of a blackout window begins so long before it: a pass comes by then, and a take may be over."""


@dataclass(frozen=True)
class Passed:
    """Times of a schedule that are over: the first, the last, and how many (at least, where there are `MOST_COUNTED`)."""

    first_ms: int
    last_ms: int
    count: int


def check(schedule: Schedule, now_ms: int) -> None:
    """Raises Invalid for a cron expression that is none (`schedule.cron`), an unknown zone (`schedule.zone`), and for times, also those of
    proofs and runs, that never come (`schedule.never`)."""
    for timed in (schedule, of_proofs(schedule), of_runs(schedule)):
        _check(timed, now_ms)


def _check(schedule: Schedule, now_ms: int) -> None:
    zone = _zone(schedule)
    if schedule.times is not None and schedule.times.cron:
        _cron(schedule.times.cron, datetime.fromtimestamp(now_ms / 1_000, zone))
    if schedule.times and following(schedule, now_ms) is None:
        raise Invalid("schedule.never", "This time never comes, or always in a blackout window", "Change the expression or the windows.")


@lru_cache(maxsize=8_192)
def following(schedule: Schedule, after_ms: int) -> int | None:
    """The first time after that moment, epoch ms; None where there is none."""
    for _ in range(MOST_PASSED_OVER):
        at_ms = _next(schedule, after_ms)
        if at_ms is None or at_ms > LAST_MS:
            return None
        end_ms = _blackout_end(schedule, at_ms)
        if end_ms is None:
            return at_ms
        after_ms = max(end_ms - 1, at_ms)
    return None


def coming(schedule: Schedule, after_ms: int) -> tuple[int, ...]:
    """The next three times."""
    times: list[int] = []
    while len(times) < SHOWN and (at_ms := following(schedule, times[-1] if times else after_ms)) is not None:
        times.append(at_ms)
    return tuple(times)


def passed(schedule: Schedule, after_ms: int, now_ms: int) -> Passed | None:
    """The times after `after_ms` that are over by now; None for none."""
    first = last = following(schedule, after_ms)
    if first is None or last is None or first > now_ms:
        return None
    count = 1
    while count < MOST_COUNTED and (at_ms := following.__wrapped__(schedule, last)) is not None and at_ms <= now_ms:
        last, count = at_ms, count + 1
    return Passed(first, last if count < MOST_COUNTED else now_ms, count)


def is_blackout(schedule: Schedule, at_ms: int) -> bool:
    """Whether the moment lies in a blackout window."""
    return _blackout_end(schedule, at_ms) is not None


@lru_cache(maxsize=8_192)
def at_latest(schedule: Schedule, due_ms: int) -> int:
    """When what has to be done at `due_ms` is done: then, or shortly before the blackout windows that it lies in, one after the other,
    begin."""
    begin_ms, earlier_ms = due_ms, _blackout_begin(schedule, due_ms)
    if earlier_ms is None:
        return due_ms
    while earlier_ms is not None and due_ms - begin_ms < 7 * DAY_MS:
        begin_ms, earlier_ms = earlier_ms, _blackout_begin(schedule, earlier_ms - 1)
    return begin_ms - LEAD_MS


def _next(schedule: Schedule, after_ms: int) -> int | None:
    times = schedule.times
    if not times:
        return None
    if times.every_ms:
        return (after_ms // times.every_ms + 1) * times.every_ms
    coming = (round(at.timestamp() * 1_000) for at in _cron(times.cron, datetime.fromtimestamp(after_ms / 1_000, _zone(schedule))))
    return next((at_ms for at_ms in coming if at_ms > after_ms), None)


def _cron(expression: str, since: datetime) -> CronSim:
    """In the second pass of an hour that comes twice it begins with the times of the first. An expression that names hours is for
    `cronsim` one of set times, also where its minutes are every so many: it takes it for one where neither field begins with a star."""
    hint = "Write five fields, minute hour day month weekday: '0 * * * *', '30 3 * * mon-fri'."
    if len(expression.split()) != 5:
        raise Invalid("schedule.cron", f"{expression!r} is no cron expression of five fields", hint)
    minute, hour, *days = expression.split()
    minutes = minute if hour.startswith("*") else minute.replace("*", "0-59")
    try:
        return CronSim(" ".join([minutes, hour, *days]), since)
    except CronSimError as error:
        raise Invalid("schedule.cron", f"{expression!r} is no cron expression: {str(error).lower()}", hint) from error


def _zone(schedule: Schedule) -> ZoneInfo:
    name = schedule.zone or UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Invalid("schedule.zone", f"{name!r} is no time zone", "Write UTC, or a name like Europe/Berlin.") from error


def _blackout_end(schedule: Schedule, at_ms: int) -> int | None:
    """When the blackout window that the moment is in ends; None outside of them."""
    at = _minute(schedule, at_ms)
    lasts = max((left for _, left in _covering(schedule, at)), default=None)
    return None if lasts is None else round((at + timedelta(minutes=lasts)).timestamp() * 1_000)


def _blackout_begin(schedule: Schedule, at_ms: int) -> int | None:
    """When the blackout window that the moment is in began; None outside of them."""
    at = _minute(schedule, at_ms)
    since = max((of_day.minutes - left for of_day, left in _covering(schedule, at)), default=None)
    return None if since is None else round((at - timedelta(minutes=since)).timestamp() * 1_000)


def _minute(schedule: Schedule, at_ms: int) -> datetime:
    """The minute that the moment lies in, by the clocks there."""
    return datetime.fromtimestamp(at_ms / 1_000, _zone(schedule)).replace(second=0, microsecond=0)


def _covering(schedule: Schedule, at: datetime) -> list[tuple[Window, int]]:
    """The blackout windows that this minute lies in, with how many minutes each still lasts."""
    windows = [window(text) for text in schedule.blackouts or ()]
    lasting = [(of_day, of_day.minutes_left(at.weekday(), at.hour * 60 + at.minute)) for of_day in windows]
    return [(of_day, left) for of_day, left in lasting if left]
