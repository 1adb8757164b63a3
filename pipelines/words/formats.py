"""Numbers and times for people: a unit, a fixed precision, one form each. Missing values become a dash."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Any

MISSING = "–"
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
Facts = list[tuple[str, str]]
"""Names with their values, in lower case and without markup: the shell prints them below each other, a page lays them out."""
ICEBERG_STREAM = "org.apache.iceberg.spark.source."
_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def missing(value: float | None) -> bool:
    """Whether a value is missing."""
    return value is None or not math.isfinite(value)


def count(value: float | None) -> str:
    """A whole number with thousands marked: `1,234,567`."""
    return MISSING if value is None or missing(value) else f"{value:,.0f}"


def compact(value: float | None) -> str:
    """Three or four characters: `15.7k`, `3.0M`, `666`, `0.4`."""
    if value is None or missing(value):
        return MISSING
    scaled, suffix = _scaled(value, "k")
    return f"{scaled}{suffix}"


def rate(value: float | None) -> str:
    """Rows a second: `15.7k rows/s`."""
    return MISSING if missing(value) else f"{compact(value)} rows/s"


def size(value: float | None) -> str:
    """Bytes in steps of 1000: `0 B`, `46.0 MB`, `2.1 GB`."""
    if value is None or missing(value):
        return MISSING
    if abs(value) < 1_000:
        return f"{value:.0f} B"
    scaled, suffix = _scaled(value, "k")
    return f"{scaled} {suffix}B"


def duration(ms: float | None) -> str:
    """A stretch of time, at most two units: `480 ms`, `2.31 s`, `4m 12s`, `3h 04m`, `3d 4h`."""
    if ms is None or missing(ms):
        return MISSING
    if ms < 0:
        return "-" + duration(-ms)
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 59_995:
        return f"{ms / _SECOND:.2f} s" if ms < 9_995 else f"{ms / _SECOND:.1f} s"
    return _long_duration(round(ms / _SECOND))


def left(ms: float) -> str:
    """An estimated stretch of time, in whole seconds: `9 s`, `4m 12s`."""
    return f"{max(1, round(ms / _SECOND))} s" if ms < 59_500 else _long_duration(round(ms / _SECOND))


def ago(at_ms: float | None, now_ms: float) -> str:
    """The time since a moment: `just now`, `12 s ago`, `5 min ago`, `3 h ago`, `2 days ago`; `in 5 min` for what is to come."""
    if at_ms is None or missing(at_ms):
        return MISSING
    away = now_ms - at_ms
    if abs(away) < 2 * _SECOND:
        return "just now"
    return f"{_one_unit(away)} ago" if away > 0 else f"in {_one_unit(-away)}"


def exact(at_ms: float | None, zone: tzinfo | None) -> str:
    """The moment itself: `2026-11-20 14:03:12 UTC`; None is the zone of this machine."""
    if at_ms is None or missing(at_ms):
        return MISSING
    return _exact(int(at_ms // 1_000), zone)


@lru_cache(maxsize=16_384)
def _exact(at_s: int, zone: tzinfo | None) -> str:
    """The text of a moment, cached because tables format the same ones every two seconds.

    A job's event times may be in years that no calendar here has: those are told in seconds.
    """
    try:
        return datetime.fromtimestamp(at_s, UTC).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z")
    except (ValueError, OverflowError, OSError):
        return f"{at_s:,} s after 1970"


def precise(at_ms: float, zone: tzinfo | None) -> str:
    """The moment with its fraction of a second, as far as there is one: `2026-11-20 14:03:12.000125 UTC`."""
    micros = round(at_ms * 1_000)
    date, time, *named = exact(micros // 1_000, zone).split(" ")
    fraction = f".{micros % 1_000_000:06d}".rstrip("0") if micros % 1_000_000 and named else ""
    return " ".join((date, f"{time}{fraction}", *named))


def when(at_ms: float | None, now_ms: float, zone: tzinfo | None) -> str:
    """The moment and how long ago: `2026-11-20 14:03:12 UTC (3 min ago)`."""
    return MISSING if at_ms is None else f"{exact(at_ms, zone)} ({ago(at_ms, now_ms)})"


def last_day(at_ms: float | None, now_ms: float, zone: tzinfo | None) -> str:
    """The last day of something: `2027-01-15`, `2027-01-15, past`."""
    return MISSING if at_ms is None else exact(at_ms, zone)[:10] + (", past" if at_ms < now_ms else "")


def clock(at_ms: float | None, zone: tzinfo) -> str:
    """The time of day alone: `14:03:12`."""
    return MISSING if at_ms is None or missing(at_ms) else _clock(at_ms, zone)


def _clock(at_ms: float, zone: tzinfo) -> str:
    try:
        return datetime.fromtimestamp(at_ms / 1_000, zone).strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return MISSING


def plural(number: int, noun: str, many: str = "") -> str:
    """`1 job`, `2 jobs`, `3 batches` (with `many="batches"`)."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def batches(batch: int | Mapping[str, int]) -> str:
    """`batch 7`, or of each query that is named `batch 7 of counts and batch 2 of late`."""
    if not isinstance(batch, Mapping):
        return f"batch {batch:,}"
    return " and ".join(f"batch {number:,} of {query}" for query, number in batch.items())


def ranges(numbers: Sequence[int]) -> str:
    """Ascending whole numbers, those that follow each other joined: `3, 7–9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first:,}" if first == last else f"{first:,}–{last:,}" for first, last in runs) or MISSING


def source_name(description: str) -> str:
    """Spark's description of a source in short: `files in a/events`, `Delta a/events`, `Iceberg a/events`, `Kafka clicks`, `rate`; an
    unknown one as it is."""
    folder = re.match(r"(FileStream|Delta|Iceberg)Source\[.*?([^/\]]+(?:/[^/\]]+)?)/?\]$", description)
    if folder:
        return f"{'files in' if folder[1] == 'FileStream' else folder[1]} {folder[2]}"
    if description.startswith(ICEBERG_STREAM):  # as of the next, the class and where its object lies: no word of the source's own
        return "an Iceberg table"
    if ".PythonMicroBatchStream" in description:
        return "a Python data source"
    kafka = re.match(r"KafkaV2\[(?:Subscribe|SubscribePattern|Assign)\[(.*)\]\]$", description)
    return f"Kafka {kafka[1]}" if kafka else "rate" if description.startswith("RateStream") else description


def quantity(value: float, unit: str) -> str:
    """An amount in its unit (a plural): `1.5 MB` of bytes, else `1,200 files`, `1 batch`."""
    return size(value) if unit == "bytes" else f"{value:,.0f} {_singular(unit) if round(value) == 1 else unit}"


def pace(per_second: float, unit: str) -> str:
    """A rate in its unit (a plural): `1.5 MB/s` of bytes, else `2.4 files/s`, `1 batch/s`."""
    number = compact(per_second)
    return f"{size(per_second)}/s" if unit == "bytes" else f"{number} {_singular(unit) if number == '1' else unit}/s"


def files(number: int, total_bytes: float) -> str:
    """How many files, and their size: `12 files, 2.0 MB`."""
    return f"{plural(number, 'file')}, {size(total_bytes)}"


def short_id(text: str) -> str:
    """An id short enough for a chip, still unique in practice: `sp-1a2b3c4d`."""
    prefix, _, rest = text.partition("-")
    return f"{prefix}-{rest[:8]}" if rest else text[:12]


def shortened(name: str, most: int) -> str:
    """A name of at most so many characters: of a longer one the middle is left out, for its end tells it from others."""
    if len(name) <= most:
        return name
    end = most // 2 - 1
    return f"{name[: most - 1 - end]}…{name[-end:]}"


def value(value: Any, most: int) -> str:
    """A value of state that is no time, in at most so many characters: text as it is, anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _singular(unit: str) -> str:
    return {"batches": "batch"}.get(unit, unit.removesuffix("s"))


def _scaled(value: float, kilo: str) -> tuple[str, str]:
    for step, suffix in _STEPS:
        if abs(value) >= step * 0.9995:
            return f"{value / step:.1f}" if abs(value) < step * 99.95 else f"{value / step:.0f}", kilo if suffix == "k" else suffix
    return (f"{value:.0f}" if value == int(value) or abs(value) >= 99.5 else f"{value:.1f}"), ""


def _long_duration(seconds: int) -> str:
    minutes, hours, days = seconds // 60, seconds // 3_600, seconds // 86_400
    if minutes < 60:
        return f"{minutes}m {seconds % 60:02d}s"
    if hours < 24:
        return f"{hours}h {minutes % 60:02d}m"
    return f"{days}d {hours % 24}h"


def _one_unit(ms: float) -> str:
    if ms < _MINUTE:
        return f"{ms / _SECOND:.0f} s"
    if ms < _HOUR:
        return f"{ms / _MINUTE:.0f} min"
    if ms < _DAY:
        return f"{ms / _HOUR:.0f} h"
    return plural(round(ms / _DAY), "day")
