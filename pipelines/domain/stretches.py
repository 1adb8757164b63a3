"""Stretches of time as people type them: `yesterday 03:10–03:30`, `2026-11-21 03:10 to 03:30`, `last 3 h`.

A grammar of its own, because none of the libraries for dates refuses what it does not understand: a range that was guessed misleads.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

from pipelines.domain.errors import Invalid

HINT = "Write yesterday 03:10–03:30, 2026-11-21 03:10 to 03:30, monday, since 03:10, or last 3 h."
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_COUNT = r"(?P<count>\d{1,6})\s*(?P<unit>s|m|h|d|w)(?:ec|econd|in|inute|our|r|ay|eek)?s?"
_LAST = re.compile(rf"(?:the )?last {_COUNT}")
_FOR = re.compile(rf"(?P<begin>.+) for {_COUNT}")
_SINCE = re.compile(r"since (?P<begin>.+)")
_BETWEEN = re.compile(r"\s*[–—]\s*|\s+(?:-|to|until)\s+|(?<=:\d\d)-(?=\d)")
_CLOCK = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def stretch(text: str, now: datetime) -> tuple[datetime, datetime]:
    """Begin and end of `text`, in the zone of `now`; Invalid (`range.invalid`) for what is no stretch, ends before it begins, or has not
    begun yet.

    A time without a day is of today, or of yesterday where it is still to come; an end without a day is the first after the begin.
    """
    words = " ".join(text.lower().split())
    try:
        begin, end = _stretch(words, now)
    except (ValueError, OverflowError) as error:
        raise Invalid("range.invalid", f"{text!r} is no range of time: {error}", HINT) from error
    if begin >= end or begin >= now:
        why = "it has not begun yet" if begin >= now else "it ends before it begins"
        raise Invalid("range.invalid", f"{text!r} is no range of time: {why}", HINT)
    return begin, end


def _stretch(words: str, now: datetime) -> tuple[datetime, datetime]:
    if last := _LAST.fullmatch(words):
        return now - _length(last), now
    if since := _SINCE.fullmatch(words):
        return _moment(since["begin"], now), now
    if given := _FOR.fullmatch(words):
        begin = _moment(given["begin"], now)
        return begin, begin + _length(given)
    ends = _BETWEEN.split(words)
    if len(ends) == 1:
        day = _day(words, now)
        return _at(day, time(), now), min(_at(day + timedelta(days=1), time(), now), now)
    if len(ends) != 2:
        raise ValueError("it has more than two ends")
    begin = _moment(ends[0], now)
    return begin, _end(ends[1], begin, now)


def _length(match: re.Match[str]) -> timedelta:
    return timedelta(**{_UNITS[match["unit"]]: int(match["count"])})


def _end(words: str, begin: datetime, now: datetime) -> datetime:
    clock = _CLOCK.fullmatch(words)
    if clock is None:
        return _moment(words, now)
    same_day = _at(begin.date(), _time(clock), now)
    return same_day if same_day > begin else _at(begin.date() + timedelta(days=1), _time(clock), now)


def _moment(words: str, now: datetime) -> datetime:
    """`now`, `03:10`, `yesterday 03:10`, `2026-11-21T03:10`, a day's begin."""
    if words == "now":
        return now
    if clock := _CLOCK.fullmatch(words):
        today = _at(now.date(), _time(clock), now)
        return today if today < now else _at(now.date() - timedelta(days=1), _time(clock), now)
    day, _, rest = words.replace("t", " ", 1).partition(" ") if re.match(r"\d{4}-\d{2}-\d{2}t", words) else words.partition(" ")
    clock = _CLOCK.fullmatch(rest)
    if rest and clock is None:
        raise ValueError(f"{rest!r} is no time of day")
    return _at(_day(day, now), _time(clock) if clock else time(), now)


def _day(word: str, now: datetime) -> date:
    """`today`, `yesterday`, `monday` (the last one), `2026-11-21`."""
    today = now.date()
    if word in ("today", "yesterday"):
        return today - timedelta(days=word == "yesterday")
    known = [name for name in _WEEKDAYS if word and name.startswith(word) and len(word) >= 3]
    if known:
        return today - timedelta(days=(today.weekday() - _WEEKDAYS.index(known[0])) % 7)
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", word):
        raise ValueError(f"{word!r} is no day")
    return date.fromisoformat(word)


def _time(clock: re.Match[str]) -> time:
    return time(int(clock["hour"]), int(clock["minute"]), int(clock["second"] or 0))


def _at(day: date, at: time, now: datetime) -> datetime:
    return datetime.combine(day, at, now.tzinfo)
