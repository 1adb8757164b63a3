"""The audit: who did what, when, from where, with what result. A chain of lines, each with the SHA-256 of the line before it, in files of
which all but the last are sealed: compressed, and never changed.

The chain finds a line that was changed, removed, inserted or moved, by the lines after it. What nothing comes after, it cannot: an end that
was cut off or written anew is found by who kept the hash of a line elsewhere.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.bounds import Count, Moment
from pipelines.domain.errors import Corrupt, TidemarkError, Unavailable
from pipelines.domain.json_text import read_json

FIRST = "0" * 64
"""What the first line has for the hash of a line before it."""
FAILS = (Corrupt.group, Unavailable.group, TidemarkError.group)
"""Groups of the errors of what was tried and failed; the others refuse it."""


class Result(enum.StrEnum):
    """What became of a call, or of the operation that it began."""

    DONE = "done"
    BEGUN = "begun"
    """It works as an operation, whose end has a line of its own."""
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    MENDED = "mended"
    """The audit itself: the end of a line, torn by a kill, was taken away; or lines that could not be written were lost."""
    SEALED = "sealed"
    """The audit itself: all entries before stand in sealed files."""
    REMOVED = "removed"
    """The audit itself: a sealed file was removed, as somebody asked for. Its subject is the file's entries, `1-5000`."""


AUDIT = "audit"
"""The verb of lines about the audit itself."""


@dataclass(frozen=True)
class Call:
    """A call as the audit keeps it: names alone, no code, no conf, no secret."""

    verb: str
    """The words of its command, its `call` where it has none; of the end of what Tidemark began by itself its kind."""
    subject: str
    result: Result
    code: str = ""
    """Of the error that refused it, or that it failed with."""
    operation: str = ""
    by: str = ""
    """Whom events name."""
    token: str = ""
    """Name of the token that let him in, or subject and issuer of who signed in; empty for the owner, and for Tidemark itself."""
    origin: str = ""
    """The client's address, or `command line, user …`; empty for the end of an operation."""


Record = Callable[[Call], object]
"""Where calls are written down."""


def unrecorded(call: Call) -> None:
    """Of a face that has no audit: another process serves the workspace, or none."""


@dataclass(frozen=True)
class AuditLine:
    """A line of `audit.jsonl`, newest ones first in lists."""

    number: Count
    at_ms: Moment
    verb: str
    subject: str
    result: Result
    code: str
    operation: str
    by: str
    token: str
    origin: str
    before: str
    """SHA-256 of the line before it, without its end of line."""

    @property
    def cursor(self) -> int:
        return self.number


@dataclass(frozen=True)
class Finding:
    """A place where the chain is broken."""

    line: Count
    """Line of the file, from 1; 0 for the file itself."""
    problem: str
    file: str = ""
    """The sealed file; empty for `audit.jsonl`."""

    @property
    def text(self) -> str:
        place = ", ".join(filter(None, (self.file, f"line {self.line}" if self.line else "")))
        return f"{place}: {self.problem}" if place else self.problem


@dataclass(frozen=True)
class Removed:
    """Entries that are not there because somebody asked for it, as an entry after them says."""

    first: Count
    last: Count
    at_ms: Moment
    by: str


@dataclass(frozen=True)
class Verified:
    """What `audit verify` found: the last line's number and hash are what to keep elsewhere."""

    lines: Count
    number: Count
    last: str
    findings: tuple[Finding, ...]
    removed: tuple[Removed, ...] = ()


@dataclass(frozen=True)
class SealedEntries:
    """A sealed file of the audit."""

    path: str
    """In the workspace's folder."""
    first: Count
    last: Count
    bytes: Count


@dataclass(frozen=True)
class AuditPrunePlan:
    """The sealed files that go."""

    files: tuple[SealedEntries, ...]
    bytes: Count


def canonical(content: Mapping[str, Any]) -> bytes:
    """The one way to write a line, without its end: sorted keys, no spaces, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def place_of(line: bytes) -> tuple[int, str] | None:
    """A line's number, and the hash that it has of the one before; None of what is no line of an audit."""
    content = content_of(line)
    number, before = content.get("number"), content.get("before")
    return (number, before) if type(number) is int and isinstance(before, str) else None


def content_of(line: bytes) -> Mapping[str, Any]:
    """Empty for what is no line of an audit."""
    try:
        content = read_json(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) and canonical(content) == line else {}
