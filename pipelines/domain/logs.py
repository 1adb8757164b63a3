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
    """How bad an entry is, worst first."""

    FATAL = "fatal"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    DEBUG = "debug"
    TRACE = "trace"
    OTHER = "other"
    """It says no level."""

    def is_at_least(self, level: LogLevel) -> bool:
        """Whether it is of that level or worse."""
        return _RANKS[self] <= _RANKS[level]


_RANKS = {level: rank for rank, level in enumerate(LogLevel)}


@dataclass(frozen=True)
class LogChunk:
    """A piece of a run's driver log: follow with `offset=next_offset`."""

    run: RunId
    text: str
    offset: int
    next_offset: int
    size: int
    """How many bytes were ever written."""
    begin: int = 0
    """First byte that is kept: 0, unless so much was written that the beginning is not."""


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
    """Fatal or not, of all entries that were searched; and so are the warnings."""
    warnings: int
    begin: int
    """First byte that was searched: 0, unless the log is too long, or its beginning is not kept."""
    size: int


@dataclass(frozen=True)
class Wanted:
    """What an entry has to be to fit: words that occur in it (of any case), a level at least, a stretch of time (epoch ms)."""

    text: str = ""
    level: LogLevel = LogLevel.OTHER
    from_ms: int | None = None
    to_ms: int | None = None

    def of_level(self, level: LogLevel) -> bool:
        return level.is_at_least(self.level)

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
_RAISED = re.compile(r"[\w.$]*(Error|Exception)\b|Traceback ")
_TELLING = re.compile(rb"ERROR|FATAL|CRITICAL|SEVERE|WARN|Error|Exception|Throwable|Traceback|Caused by|JVM|\.\.\. |\r|(INFO|DEBUG|TRACE)")
"""A line with none of these, or where the first is one of the last as a word between spaces, is an entry of its own; nearly all lines are
such, and are not looked at closer."""


_NAMED = {
    **dict.fromkeys(("FATAL", "CRITICAL"), LogLevel.FATAL),
    **dict.fromkeys(("ERROR", "SEVERE"), LogLevel.ERROR),
    **dict.fromkeys(("WARN", "WARNING"), LogLevel.WARNING),
    **{level.name: level for level in (LogLevel.INFO, LogLevel.DEBUG, LogLevel.TRACE)},
}
"""What lines call them."""
_LEVEL = re.compile(rf"(?<![\"\w])(?:{'|'.join(_NAMED)})(?![\"\w])")


def level_of(line: str) -> LogLevel:
    """How bad a line is: as it says itself where it is JSON, else by the first word that is a level's."""
    if line[:1] == "{" and (name := structured_logs.level_name(line.encode())):
        return _NAMED.get(name, LogLevel.OTHER)
    if _RAISED.match(line):
        return LogLevel.ERROR
    word = _LEVEL.search(line)
    return _NAMED[word[0]] if word else LogLevel.OTHER


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
        telling = _TELLING.search(raw)
        if telling and telling[1] and b"\r" not in raw and raw[telling.start() - 1 : telling.end() + 1] == b" %b " % telling[1]:
            level = _NAMED[telling[1].decode()]
        elif telling:
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
    errors = levels[LogLevel.FATAL] + levels[LogLevel.ERROR]
    return LogSearch(run, tuple(newest), first, fits, errors, levels[LogLevel.WARNING], begin, size)
