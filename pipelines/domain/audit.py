"""The audit: who did what, when, from where, with what result. A chain of lines, each with the SHA-256 of the line before it.

The chain finds a line that was changed, removed, inserted or moved, by the lines after it. What nothing comes after, it cannot: an end that
was cut off or written anew is found by who kept the hash of a line elsewhere.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.bounds import Count, Moment
from pipelines.domain.errors import Corrupt, TidemarkError, Unavailable
from pipelines.domain.json_text import read_json

FIRST = "0" * 64
"""What the first line has for the hash of a line before it."""
MOST_FINDINGS = 100
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


@dataclass(frozen=True)
class Call:
    """A call as the audit keeps it: names alone, no code, no conf, no secret."""

    verb: str
    """The words of its command, its `call` where it has none; of an operation's end its kind."""
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


@dataclass(frozen=True)
class Verified:
    """What `audit verify` found: the last line's number and hash are what to keep elsewhere."""

    lines: Count
    number: Count
    last: str
    findings: tuple[Finding, ...]


def without_secrets(place: str) -> str:
    """A place as the audit has it: of a URL neither user and password nor query, where signatures stand."""
    scheme, is_url, rest = place.partition("://")
    if not is_url:
        return place
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def canonical(content: Mapping[str, Any]) -> bytes:
    """The one way to write a line, without its end: sorted keys, no spaces, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def place_of(line: bytes) -> tuple[int, str] | None:
    """A line's number, and the hash that it has of the one before; None of what is no line of an audit."""
    try:
        content = read_json(line)
    except ValueError:
        return None
    if not isinstance(content, dict) or canonical(content) != line:
        return None
    number, before = content.get("number"), content.get("before")
    return (number, before) if type(number) is int and isinstance(before, str) else None


@dataclass
class Chain:
    """The check of a chain, line after line."""

    last_kept: str = ""
    """A hash that some line must have."""
    lines: int = 0
    number: int = 0
    last: str = FIRST
    findings: list[Finding] = field(default_factory=list)
    _was_garbled: bool = False

    def follow(self, line: bytes) -> None:
        """Compares the next line (without its end) with those before it."""
        self.lines += 1
        place = place_of(line)
        if place is None:
            self._find(self.lines, f"this is no entry of the audit: entry {self.number + 1} was changed by hand, or the line was added")
            self.number += 1
        else:
            self._compare(*place)
        self._was_garbled = place is None
        self.last = digest(line)
        if self.last == self.last_kept:
            self.last_kept = ""

    def _compare(self, number: int, before: str) -> None:
        if number > self.number + 1:
            missing = f"entry {self.number + 1} is" if number == self.number + 2 else f"entries {self.number + 1} to {number - 1} are"
            self._find(self.lines, f"{missing} missing here: the line has entry {number}")
        elif self._was_garbled:
            pass  # named already
        elif number == self.number:
            self._find(self.lines, f"entry {number} stands here a second time: one of the two was added")
        elif number < self.number:
            self._find(self.lines, f"entry {number} stands after entry {self.number}: it was moved, or added")
        elif before != self.last:
            changed = max(1, self.number)
            self._find(
                max(1, self.lines - 1),
                f"entry {changed} was changed after it was written: entry {number} has the SHA-256 that it had before",
            )
        self.number = number

    def _find(self, line: int, problem: str) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(line, problem))

    def end(self) -> Verified:
        """What was found. A hash that was kept and that no line has: the end was cut off or written anew."""
        if self.last_kept:
            self._find(
                0, f"no entry has the hash {self.last_kept}: that entry was changed or cut off, or all from some entry on was written anew"
            )
        return Verified(self.lines, self.number, self.last, tuple(self.findings))


def verified(lines: Iterable[bytes], last_kept: str = "") -> Verified:
    """Checks a chain of lines (without their ends) from its beginning."""
    chain = Chain(last_kept)
    for line in lines:
        chain.follow(line)
    return chain.end()
