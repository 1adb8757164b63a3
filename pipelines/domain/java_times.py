"""Patterns by which Spark writes times (those of Java's DateTimeFormatter), as far as what they write can be read back without a guess."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TWO = "[0-9]{2}"
_OFFSET = "[+-][0-9]{2}:[0-9]{2}"
_LETTERS = {
    "yyyy": ("[0-9]{4}", "%Y"),
    "uuuu": ("[0-9]{4}", "%Y"),
    "MM": (_TWO, "%m"),
    "M": ("[1-9][0-9]?", "%-m"),
    "MMM": ("[A-Z][a-z]{2}", "%b"),
    "MMMM": ("[A-Z][a-z]+", "%B"),
    "dd": (_TWO, "%d"),
    "d": ("[1-9][0-9]?", "%-d"),
    "EEE": ("[A-Z][a-z]{2}", "%a"),
    "EEEE": ("[A-Z][a-z]+", "%A"),
    "HH": (_TWO, "%H"),
    "H": ("[0-9]{1,2}", "%-H"),
    "hh": (_TWO, "%I"),
    "h": ("[0-9]{1,2}", "%-I"),
    "a": ("[AP]M", "%p"),
    "mm": (_TWO, "%M"),
    "m": ("[0-9]{1,2}", "%-M"),
    "ss": (_TWO, "%S"),
    "s": ("[0-9]{1,2}", "%-S"),
    "XXX": (f"(?:Z|{_OFFSET})", "%z"),
    "XX": ("(?:Z|[+-][0-9]{4})", "%z"),
    "xxx": (_OFFSET, "%z"),
    "xx": ("[+-][0-9]{4}", "%z"),
    "Z": ("[+-][0-9]{4}", "%z"),
    **{"S" * digits: (f"[0-9]{{{digits}}}", "%f") for digits in range(1, 7)},
}
"""Letters of a pattern -> what they write as a regular expression, and as strptime calls it."""
ZONE, CLOCK = "XxZ", "HhamsS"
"""Letters that need a zone, and a time of the day."""
_PARTS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)


@dataclass(frozen=True)
class TimeForm:
    """How times are written: the pattern, all that it writes as a regular expression, and the formats of strptime that read it."""

    pattern: str
    regex: str
    strptime: tuple[str, ...]
    has_zone: bool
    has_clock: bool


def form(pattern: str, without: str = "") -> TimeForm | None:
    """What the pattern writes of a value that has nothing of `without` (letters): a section in brackets is left out where it needs them.
    None where two times of a day may be one text, or where letters are not known here."""
    parts = list(_expanded(pattern, without))
    letters = [part for part in parts if part[0].isalpha()]
    kinds = [part[0].replace("u", "y") for part in letters]
    if any(part not in _LETTERS for part in letters) or not {"y", "M", "d"} <= set(kinds) or ("h" in kinds) != ("a" in kinds):
        return None
    regex = "".join(_LETTERS[part][0] if part[0].isalpha() else re.escape(_literal(part)) for part in parts)
    strptime = "".join(_LETTERS[part][1] if part[0].isalpha() else _literal(part).replace("%", "%%") for part in parts)
    formats = (strptime, strptime.replace("%z", "Z")) if "%z" in strptime else (strptime,)
    return TimeForm(pattern, regex, formats, "%z" in strptime, bool(set(CLOCK) & set(kinds)))


def _expanded(pattern: str, without: str) -> Iterator[str]:
    """The parts of the pattern, without brackets."""
    for section in re.split(r"(\[[^\[\]]*\])", pattern):
        is_optional = section.startswith("[")
        parts = [match.group() for match in _PARTS.finditer(section.strip("[]") if is_optional else section)]
        if not (is_optional and any(part[0] in without for part in parts)):
            yield from parts


def _literal(part: str) -> str:
    """What a part that is no letters writes."""
    return part if not part.startswith("'") else part[1:-1].replace("''", "'") or "'"
