"""A driver's log as entries: a line with its level and time, and the lines that belong to it (a stack trace). Pure."""

from __future__ import annotations

import enum
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from pipelines.domain import structured_logs
from pipelines.domain.ids import RunId

LOG_FORMATS = ("%y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S")
"""Of the time at the beginning of a line: Spark's own, and that of Python's `logging`."""
MOST_LINES = 400
"""Of one entry; the rest of a longer one is left out."""


class LogLevel(enum.StrEnum):
    """How bad an entry is."""

    ERROR = "error"
    WARNING = "warning"
    OTHER = "other"


@dataclass(frozen=True)
class LogEntry:
    """One entry: `offset` is its first byte in the file; `at_ms` the time that it says, or the last one said before it."""

    offset: int
    level: LogLevel
    at_ms: int | None
    text: str


@dataclass(frozen=True)
class LogSearch:
    """What a search found in a run's log."""

    run: RunId
    entries: tuple[LogEntry, ...]
    """The newest that fit, oldest first, at most as many as asked for."""
    first: LogEntry | None
    """The very first that fits."""
    fits: int
    """How many fit."""
    errors: int
    """Of all entries that were searched, and so are the warnings."""
    warnings: int
    begin: int
    """First byte that was searched: 0, unless the log is too long."""
    size: int


@dataclass(frozen=True)
class Wanted:
    """What an entry has to be to fit: words that occur in it (of any case), a level at least, a stretch of time (epoch ms)."""

    text: str = ""
    level: LogLevel = LogLevel.OTHER
    from_ms: int | None = None
    to_ms: int | None = None

    def of_level(self, level: LogLevel) -> bool:
        return self.level is LogLevel.OTHER or level is LogLevel.ERROR or level is self.level

    def fits(self, entry: LogEntry) -> bool:
        return (
            self.of_level(entry.level)
            and (not self.text or self.text.casefold() in entry.text.casefold())
            and (self.from_ms is None or (entry.at_ms is not None and entry.at_ms >= self.from_ms))
            and (self.to_ms is None or (entry.at_ms is not None and entry.at_ms <= self.to_ms))
        )


_TIME = re.compile(rb"(\d\d(?:\d\d)?[/-]\d\d[/-]\d\d)[ T](\d\d:\d\d:\d\d)")
_BAR = re.compile(r"\s*\[Stage \d+:[=> ]*\(\d+ \+ \d+\) / \d+\]")
_BELONGS = re.compile(r"\s|Caused by: |\.\.\. \d+ more|JVM stacktrace:|$")
_THROWN = re.compile(r"[\w.$]*(Error|Exception|Throwable)\b")
_TRACEBACK = "Traceback (most recent call last)"
_LEVELS = (
    (LogLevel.ERROR, re.compile(r"(?<![\"\w])(ERROR|FATAL|CRITICAL)(?![\"\w])|^[\w.$]*(Error|Exception)\b|^Traceback ")),
    (LogLevel.WARNING, re.compile(r"(?<![\"\w])WARN(ING)?(?![\"\w])")),
)
_TELLING = re.compile(rb"ERROR|FATAL|CRITICAL|WARN|Error|Exception|Throwable|Traceback|Caused by|JVM|\.\.\. |\r")
"""A line with none of these is an entry of its own without a level; nearly all lines are such, and are not looked at closer."""


_NAMED = {
    **dict.fromkeys(("ERROR", "FATAL", "CRITICAL", "SEVERE"), LogLevel.ERROR),
    **dict.fromkeys(("WARN", "WARNING"), LogLevel.WARNING),
}
"""What JSON documents call them."""


def level_of(line: str) -> LogLevel:
    """How bad a line is: as it says itself where it is JSON, else by its words."""
    if line[:1] == "{" and (name := structured_logs.level_name(line.encode())):
        return _NAMED.get(name, LogLevel.OTHER)
    return next((level for level, pattern in _LEVELS if pattern.search(line)), LogLevel.OTHER)


def plain(line: str) -> str:
    """The line as a terminal would leave it, without Spark's progress bar; empty where nothing is left."""
    left = line.rstrip("\r\n")
    left = left.rpartition("\r")[2] if "\r" in left else left
    return "" if _BAR.match(left) else left


@dataclass
class _Open:
    """An entry whose lines are still coming, as bytes: most are never read."""

    offset: int
    level: LogLevel
    said: bytes
    """The newest line that may begin with a time, or is JSON with one."""
    lines: list[bytes]
    trace: bool = False
    """Whether it is a traceback of Python's, whose last line is still to come."""
    is_json: bool = False

    def takes(self, line: str) -> bool:
        """Whether the line belongs to it: one of a stack trace, the exception after a dated line, the end of a traceback."""
        if self.trace and not line.startswith((" ", "\t")):
            self.trace = False
            return True
        dated = len(self.lines) == 1 and self.said is self.lines[0]
        return bool(_BELONGS.match(line)) or (dated and bool(_THROWN.match(line)))

    def closed(self) -> LogEntry:
        if self.is_json and (document := structured_logs.read(self.lines[0])) is not None:
            text, at_ms = document
            more = [line.decode("utf-8", "replace").rstrip() for line in self.lines[1:MOST_LINES]]
            return LogEntry(self.offset, self.level, at_ms, "\n".join([text, *more]).rstrip())
        text = "\n".join(plain(line.decode("utf-8", "replace")) for line in self.lines[:MOST_LINES])
        return LogEntry(self.offset, self.level, _said_ms(self.said), text.rstrip())


def _entries(lines: Iterable[bytes], offset: int) -> Iterator[_Open]:
    """The lines of a log from byte `offset` on as entries."""
    opened: _Open | None = None
    time_line = b""
    for raw in lines:
        begin, offset = offset, offset + len(raw)
        line, level = "", LogLevel.OTHER
        if raw[:1] in b" \t\n":
            if opened is not None:
                opened.lines.append(raw)
            continue
        if raw[:1] == b"{" and (name := structured_logs.level_name(raw)):
            if opened is not None:
                yield opened
            time_line = raw
            opened = _Open(begin, _NAMED.get(name, LogLevel.OTHER), time_line, [raw], is_json=True)
            continue
        if _TELLING.search(raw):
            line = plain(raw.decode("utf-8", "replace"))
            if not line or (opened is not None and opened.takes(line)):
                if opened is not None:
                    opened.lines.append(raw)
                continue
            level, raw = level_of(line), line.encode()
        if opened is not None:
            yield opened
        time_line = raw if raw[:1].isdigit() and _TIME.match(raw) else time_line
        opened = _Open(begin, level, time_line, [raw], line.startswith(_TRACEBACK))
    if opened is not None:
        yield opened


def _said_ms(line: bytes) -> int | None:
    """The time at the beginning of a line as epoch ms; it is one of this machine's zone. JSON says its own."""
    if line[:1] == b"{":
        document = structured_logs.read(line)
        return document[1] if document else None
    match = _TIME.match(line)
    return _read(f"{match[1].decode()} {match[2].decode()}") if match else None


@lru_cache(maxsize=1_024)
def _read(text: str) -> int | None:
    for form in LOG_FORMATS:
        try:
            return round(datetime.strptime(text, form).timestamp() * 1_000)
        except ValueError:
            continue
    return None


def search(lines: Iterable[bytes], wanted: Wanted, limit: int, run: RunId, *, begin: int = 0, size: int = 0) -> LogSearch:
    """The entries of `lines`, which stand from byte `begin` on, that fit: the newest `limit` of them, and how many there are."""
    newest: deque[LogEntry] = deque(maxlen=limit)
    first: LogEntry | None = None
    levels, fits = Counter[LogLevel](), 0
    for opened in _entries(lines, begin):
        levels[opened.level] += 1
        if wanted.of_level(opened.level) and wanted.fits(entry := opened.closed()):
            first, fits = first or entry, fits + 1
            newest.append(entry)
    return LogSearch(run, tuple(newest), first, fits, levels[LogLevel.ERROR], levels[LogLevel.WARNING], begin, size)
