"""Text that people give: how long each kind of it may be, and that no control character is in it. And how any text is shown."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from pipelines.domain.errors import Invalid

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What steers a terminal, turns the direction of the text behind it, or is no character; not the tab and the end of a line."""
_CONTROL_IN_LINE = re.compile(f"[\t\n]|{_CONTROL.pattern}")


@dataclass(frozen=True)
class Text:
    """A kind of text: at most `most` characters, of one line unless it has `lines`. `code` is of the error for what is none."""

    name: str
    most: int
    lines: bool = False
    code: str = "request.text"

    def checked(self, text: str, what: str) -> str:
        """`text` itself; Invalid naming `what` where it is not of this kind."""
        if len(text) > self.most:
            message = f"{what} has {len(text):,} characters; {self.name} has at most {self.most:,}"
            raise Invalid(self.code, message, "Shorten it.")
        control = (_CONTROL if self.lines else _CONTROL_IN_LINE).search(text.replace("\r\n", "\n"))
        if control:
            message = f"{what} has the control character {shown_in_line(control[0])} at {control.start():,}; {self.name} has none"
            raise Invalid(self.code, message, "Remove it." if self.lines else "Remove it; it is one line.")
        return text

    def cut(self, text: str) -> str:
        """`text` of somewhere else as it is shown: on one line where this kind is, its control characters escaped, its end left out."""
        escaped = shown(text) if self.lines else shown_in_line(text)
        return escaped if len(escaped) <= self.most else escaped[: self.most - 1] + "…"


@dataclass(frozen=True)
class Place(Text):
    """A path, or the URL of a storage that outlasts this process: fsspec has one in memory, where nobody else would find anything."""

    def checked(self, text: str, what: str) -> str:
        schemes = {part.partition(":")[0].strip().lower() for part in text.split("::")}
        if "://" in text and "memory" in schemes:
            hint = "Give a path, or a URL of a storage: /backup/sp-1, s3://bucket/sp-1."
            raise Invalid("storage.memory", f"{what} is in the memory of this process, and gone with it: {shown_in_line(text)}"[:500], hint)
        return super().checked(text, what)


NAME = Text("a name", 1_000)
LABEL = Text("a label", 120, code="annotation.label")
NOTE = Text("a note", 4_000, lines=True, code="annotation.note")
PLACE = Place("a place", 4_096)
VALUE = Text("a value", 100_000, lines=True)
QUERY = Text("a query", 100_000, lines=True)
CODE = Text("a script", 4_000_000, lines=True)
MOST_ITEMS = 1_000
"""How many arguments, confs, savepoints or variants one request may hold."""


def first_line(message: object) -> str:
    """The first line of what an error or a program says; empty where it says nothing."""
    return next(iter(str(message).strip().splitlines()), "")


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """How many lines were added, and how many removed."""
    signs = [line[:1] for line in list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]]
    return signs.count("+"), signs.count("-")


def is_plain(text: str) -> bool:
    """Whether `text`, of any number of lines, has no control characters."""
    return _CONTROL.search(text.replace("\r\n", "\n")) is None


def shown(text: str) -> str:
    """`text` with its control characters as `\\x1b` and the like: what is printed never steers who prints it."""
    return _CONTROL.sub(_escaped, text)


def without_control(text: str) -> str:
    """`text` in one line, each control character as '_'."""
    return _CONTROL_IN_LINE.sub("_", text)


def shown_in_line(text: str) -> str:
    """Like `shown`, in one line: its ends of lines are escaped, too."""
    return _CONTROL_IN_LINE.sub(_escaped, text)


def escaped_in_json(text: str) -> str:
    """JSON `text` whose control characters, which it can only have in its strings, are escaped as JSON escapes them."""
    return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


def _escaped(control: re.Match[str]) -> str:
    return control[0].encode("unicode_escape").decode()
