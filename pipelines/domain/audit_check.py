"""The check of an audit's chain, line after line, over all of its files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipelines.domain.audit import AUDIT, FIRST, Finding, Removed, Result, Verified, content_of, digest, place_of

MOST_FINDINGS = 100
MARK = b'"result":"removed"'
"""Stands in each line that says of entries that they were removed."""
Gap = tuple[int, int]
"""The first and the last entry that are missing."""
_ENTRIES = re.compile(r"(\d{1,15})-(\d{1,15})")


def _removed(line: bytes) -> Removed | None:
    """The entries of which the line says that they were removed."""
    if MARK not in line:
        return None
    content = content_of(line)
    entries, at_ms = _ENTRIES.fullmatch(str(content.get("subject"))), content.get("at_ms")
    if (content.get("verb"), content.get("result")) != (AUDIT, Result.REMOVED) or entries is None or type(at_ms) is not int:
        return None
    return Removed(int(entries[1]), int(entries[2]), at_ms, str(content.get("by")))


@dataclass
class Chain:
    """The check of a chain, line after line."""

    last_kept: str = ""
    """A hash that some line must have."""
    lines: int = 0
    number: int = 0
    last: str = FIRST
    found: list[tuple[Finding, Gap | None]] = field(default_factory=list)
    _file: str = ""
    _line: int = 0
    _was_garbled: bool = False
    _removed: list[Removed] = field(default_factory=list)

    def begin(self, file: str) -> None:
        """The next line is the first of another file."""
        self._file, self._line = file, 0

    def cannot_read(self, problem: str) -> None:
        """The rest of a file cannot be read, which `problem` names."""
        self._file = ""
        self._find(0, problem)

    def follow(self, line: bytes) -> None:
        """Compares the next line (without its end) with those before it."""
        self.lines += 1
        self._line += 1
        place = place_of(line)
        if place is None:
            self._find(self._line, f"this is no entry of the audit: entry {self.number + 1} was changed by hand, or the line was added")
            self.number += 1
        else:
            self._compare(*place)
        self._was_garbled = place is None
        self._hash(digest(line))
        if removed := _removed(line):
            self._removed.append(removed)

    def _hash(self, last: str) -> None:
        self.last = last
        if last == self.last_kept:
            self.last_kept = ""

    def _compare(self, number: int, before: str) -> None:
        if number > self.number + 1:
            missing = f"entry {self.number + 1} is" if number == self.number + 2 else f"entries {self.number + 1} to {number - 1} are"
            self._find(self._line, f"{missing} missing here: the line has entry {number}", (self.number + 1, number - 1))
            self._hash(before)
        elif self._was_garbled:
            pass  # named already
        elif number == self.number:
            self._find(self._line, f"entry {number} stands here a second time: one of the two was added")
        elif number < self.number:
            self._find(self._line, f"entry {number} stands after entry {self.number}: it was moved, or added")
        elif before != self.last:
            changed = max(1, self.number)
            self._find(
                max(1, self._line - 1),
                f"entry {changed} was changed after it was written: entry {number} has the SHA-256 that it had before",
            )
        self.number = number

    def _find(self, line: int, problem: str, gap: Gap | None = None) -> None:
        if len(self.found) < MOST_FINDINGS:
            self.found.append((Finding(line, problem, self._file), gap))

    def end(self) -> Verified:
        """What was found, without the gaps that somebody asked for. A hash that was kept and that no line has: the end was cut off, or
        written anew."""
        findings = [finding for finding, gap in self.found if gap is None or not _covers(self._removed, *gap)]
        gaps = [gap for _, gap in self.found if gap is not None]
        gone = tuple(each for each in self._removed if any(first <= each.last and each.first <= last for first, last in gaps))
        if self.last_kept:
            removed = ", or it is among those that were removed" if gone else ""
            why = f"that entry was changed or cut off, or all from some entry on was written anew{removed}"
            findings.append(Finding(0, f"no entry has the hash {self.last_kept}: {why}"))
        return Verified(self.lines, self.number, self.last, tuple(findings), gone)


def _covers(removed: Iterable[Removed], first: int, last: int) -> bool:
    """Whether all entries from `first` to `last` were removed."""
    for each in sorted(removed, key=lambda each: each.first):
        if each.first <= first <= each.last:
            first = each.last + 1
    return first > last
