"""Points in time as people type them: `2027-01-15T08:00`, `08:00:30` (today), `-10m`; and dates: `2027-01-15`, `+30d`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from pipelines.domain.errors import Invalid

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000

LONGEST_MS = 366 * DAY_MS
"""The longest time that a setting takes."""

_BACK = re.compile(r"-(?:(?P<days>\d+)d)?(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?(?:(?P<seconds>\d+)s)?")
_LONG = re.compile(
    r"(?:(?P<days>\d{1,6})d)?(?:(?P<hours>\d{1,6})h)?(?:(?P<minutes>\d{1,6})m)?(?:(?P<seconds>\d{1,9})s)?(?:(?P<milliseconds>\d{1,12})ms)?"
)
_UNITS = (("d", DAY_MS), ("h", HOUR_MS), ("m", MINUTE_MS), ("s", 1_000), ("ms", 1))
_DAYS = re.compile(r"\+(?P<days>\d{1,5})d")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


def moment_ms(text: str, now: datetime) -> int:
    """`text` as epoch ms; a time without a zone is in that of `now`. Invalid where it is none of the three forms."""
    back = _BACK.fullmatch(text)
    if back and any(back.groupdict().values()):
        return _epoch_ms(now - timedelta(**{unit: int(count) for unit, count in back.groupdict().items() if count}))
    try:
        at = _clock(text, now) if _CLOCK.fullmatch(text) else datetime.fromisoformat(text)
    except ValueError as error:
        raise Invalid("time.invalid", f"{text!r} is not a time", "Write 2027-01-15T08:00, 08:00:30 (today) or -10m.") from error
    return _epoch_ms(at if at.tzinfo else at.replace(tzinfo=now.tzinfo))


def in_utc(ms: int) -> str:
    """The moment to the second, for messages: `2027-01-15T08:00:00+00:00`; one that no calendar has as its number."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"


def duration_ms(text: str) -> int:
    """`90s`, `1h30m`, `7d` as ms; Invalid (`duration.invalid`) for anything else, and for nothing."""
    match = _LONG.fullmatch("".join(text.split()))
    given = {unit: int(count) for unit, count in match.groupdict().items() if count} if match else {}
    if not any(given.values()):
        raise Invalid("duration.invalid", f"{text!r} is no duration", "Write 90s, 10m, 1h30m or 7d.")
    return round(timedelta(**given) / timedelta(milliseconds=1))


def spelt_duration(ms: int) -> str:
    """`1h30m`, as `duration_ms` reads it."""
    words, left = "", ms
    for unit, length in _UNITS:
        count, left = divmod(left, length)
        words += f"{count}{unit}" if count else ""
    return words


def best_before_ms(text: str, now: datetime) -> int:
    """The last ms of the day `text` (a date, or `+30d` from today) in the zone of `now`; a date with a time is that moment.

    Invalid (`date.invalid`) for anything else.
    """
    try:
        if after := _DAYS.fullmatch(text):
            return day_end_ms(now + timedelta(days=int(after["days"])))
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
        return day_end_ms(at) if _DATE.fullmatch(text) else _epoch_ms(at)
    except (ValueError, OverflowError) as error:
        raise Invalid("date.invalid", f"{text!r} is not a date: {error}", "Write 2027-03-31, +30d, or none.") from error


def day_end_ms(day: datetime) -> int:
    """The last ms of the day that `day` is in, in its own zone."""
    return _epoch_ms(datetime.combine(day.date(), time.max, day.tzinfo).replace(microsecond=999_000))


def _clock(text: str, now: datetime) -> datetime:
    hour, minute, *second = map(int, text.split(":"))
    return now.replace(hour=hour, minute=minute, second=second[0] if second else 0, microsecond=0)


def _epoch_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
