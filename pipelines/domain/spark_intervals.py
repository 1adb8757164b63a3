"""Spark's intervals as it writes them in SQL (org.apache.spark.sql.catalyst.util.IntervalUtils, in its ANSI style)."""

from __future__ import annotations

MONTHS = ("year", "month")
FIELDS = ("day", "hour", "minute", "second")
MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
BEFORE = {"hour": " ", "minute": ":", "second": ":"}
"""What stands before a field that is not the first."""


def text(number: int, kind: str) -> str:
    """An interval of so many months or microseconds; `kind` is its type as Spark's JSON has it (`interval day to second`)."""
    first, _, last = kind.removeprefix("interval ").partition(" to ")
    sign, fields = "-" if number < 0 else "", f"{first} TO {last}" if last else first
    written = _months(abs(number), first, last) if first in MONTHS else _time(abs(number), first, last or first)
    return f"INTERVAL '{sign}{written}' {fields.upper()}"


def _months(months: int, first: str, last: str) -> str:
    if first == "month":
        return str(months)
    return f"{months // 12}-{months % 12}" if last else str(months // 12)


def _time(micros: int, first: str, last: str) -> str:
    written = ""
    for field in FIELDS[FIELDS.index(first) : FIELDS.index(last) + 1]:
        count, rest = divmod(micros, MICROS[field])
        digits = str(count) if field == "day" else f"{count:02d}"
        if field == "second" and rest:
            digits += f".{rest:06d}".rstrip("0")
        written += (BEFORE[field] if written else "") + digits
        micros = rest
    return written
