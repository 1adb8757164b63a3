"""Numbers and times as people read them: with units, a fixed precision, and `-` where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

NOTHING = "-"


def count(value: float | None) -> str:
    """`1,234,567`."""
    return NOTHING if value is None else f"{value:,.0f}"


def counted(value: int, thing: str) -> str:
    """`1 file`, `2,000 files`."""
    return f"{value:,} {thing}" + ("" if value == 1 else "s")


def quantity(value: float, unit: str) -> str:
    """`1.5 MB` for bytes, else `1,200 files`."""
    return size(value) if unit == "bytes" else f"{value:,.0f} {unit}"


def ranges(numbers: Sequence[int]) -> str:
    """`4-9, 12` of ascending numbers."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans) or NOTHING


def size(value: float | None) -> str:
    """`1.5 MB`, by powers of 1000."""
    if value is None:
        return NOTHING
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.95 or unit == "TB":
            break
        value /= 1000
    return f"{value:,.0f} B" if unit == "B" else f"{value:,.1f} {unit}"


def rate(value: float | None) -> str:
    """`120.5 rows/s`."""
    return NOTHING if value is None else f"{value:,.1f} rows/s"


def duration(ms: float | None) -> str:
    """`850 ms`, `12.3 s`, `4 min 10 s`, `3 h 05 min`, `12 d 4 h`."""
    if ms is None:
        return NOTHING
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes} min {seconds:02d} s"
    days, hours_left = divmod(hours, 24)
    return f"{days} d {hours_left} h" if days else f"{hours} h {minutes_left:02d} min"


def ago(at_ms: int | None, now_ms: int) -> str:
    """`3.0 s ago`; what is later than `now_ms` (clocks differ) is now."""
    return NOTHING if at_ms is None else f"{duration(max(0, now_ms - at_ms))} ago"


def exact(at_ms: float | None) -> str:
    """`2027-01-15 08:00:00`, local time."""
    return NOTHING if at_ms is None else datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def when(at_ms: int | None, now_ms: int) -> str:
    """`2027-01-15 08:00:00 (3.0 s ago)`."""
    return NOTHING if at_ms is None else f"{exact(at_ms)} ({ago(at_ms, now_ms)})"


def until(at_ms: int | None, now_ms: int) -> str:
    """The last day of something, local time: `2027-01-15`, `2027-01-15, past`."""
    return NOTHING if at_ms is None else exact(at_ms)[:10] + (", past" if at_ms < now_ms else "")
