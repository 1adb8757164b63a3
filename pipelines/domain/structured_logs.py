"""Lines of a log that are JSON documents: Spark's (`spark.log.structuredLogging.enabled`, `SparkLayout.json`), those of PySpark's logger,
and what the usual JSON layouts of log4j and of Python's `logging` write. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pipelines.domain.json_text import read_json

LEVEL = ("level", "log.level", "levelname", "severity")
MESSAGE = ("msg", "message")
TIME = ("ts", "@timestamp", "timestamp", "time", "instant", "timeMillis")
LOGGER = ("logger", "loggerName", "log.logger", "name")
THROWN = ("exception", "thrown", "exc_info", "error.stack_trace")
MOST_FRAMES = 100


def _key(names: tuple[str, ...]) -> str:
    return rf'"(?:{"|".join(map(re.escape, names))})"\s*:'


_LINE = re.compile(rf'\{{(?=.*{_key(TIME)})(?=.*{_key(MESSAGE)}).*{_key(LEVEL)}\s*"(\w+)"'.encode())
"""A document that says when, what and how bad: a row of data that a job prints has at most one of these."""


def level_name(line: bytes) -> str:
    """The level that the line says (`ERROR`), in capitals; empty for a line that is no document of a log. It is not parsed for that."""
    match = _LINE.match(line) if line[:1] == b"{" else None
    return match[1].decode().upper() if match else ""


def read(line: bytes) -> tuple[str, int | None] | None:
    """The line as people read it, with its stack trace below, and its time (epoch ms); None where it is no whole JSON document."""
    try:
        document = read_json(line)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    head = (
        _first(document, TIME),
        _first(document, LEVEL),
        f"{_first(document, LOGGER)}:",
        _first(document, MESSAGE),
        _context(document.get("context")),
    )
    return "\n".join([" ".join(part for part in head if part.strip(":")), *_thrown(document)]), _at_ms(document)


def _first(document: Mapping[str, Any], names: tuple[str, ...]) -> str:
    value = next((document[name] for name in names if document.get(name) is not None), "")
    return value if isinstance(value, str) else json.dumps(value)


def _context(context: Any) -> str:
    """Spark's MDC: `[task_id=3 query_id=…]`."""
    return f"[{' '.join(f'{name}={value}' for name, value in context.items())}]" if isinstance(context, dict) and context else ""


def _thrown(document: Mapping[str, Any]) -> Iterator[str]:
    """The exception's own lines; each but the first begins with a tab, as Java prints them."""
    thrown = next((document[name] for name in THROWN if document.get(name)), None)
    if isinstance(thrown, str):
        yield thrown
    elif isinstance(thrown, dict):
        names = ((thrown.get("class") or thrown.get("name") or thrown.get("exception_class")), (thrown.get("msg") or thrown.get("message")))
        yield ": ".join(str(name) for name in names if name)
        trace = thrown.get("stacktrace") or thrown.get("extendedStackTrace") or ()
        yield from (trace.splitlines() if isinstance(trace, str) else map(_frame, list(trace)[:MOST_FRAMES]))


def _frame(frame: Any) -> str:
    if not isinstance(frame, dict):
        return f"\t{frame}"
    place = f"{frame.get('file') or 'Unknown Source'}:{frame.get('line') or ''}".rstrip(":")
    return f"\tat {'.'.join(str(frame[part]) for part in ('class', 'method') if frame.get(part))}({place})"


def _at_ms(document: Mapping[str, Any]) -> int | None:
    value = next((document[name] for name in TIME if document.get(name) is not None), None)
    if isinstance(value, dict):
        value = value.get("epochSecond")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return round(value if value > 1e11 else value * 1_000)
    try:
        return round(datetime.fromisoformat(value.replace(",", ".")).timestamp() * 1_000)
    except (ValueError, OverflowError):
        return None
