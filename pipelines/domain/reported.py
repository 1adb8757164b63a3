"""What a source says of itself in the latest offset that it reports, beside that: what it holds, and for how long.

The convention for data sources that are written in Python, whose `reportLatestOffset` gives it. `holds` is the oldest offset that can be
read on from: numbers are compared, each with the one of the same name, at any depth: `{"next": 900, "holds": {"next": 400}}`. `keeps_ms` is
how long a row is kept after it came, for a source whose offsets say in `at_ms` when the last row came that was read (epoch ms); a part
of which all was read says `"ended": true`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.json_text import read_json

HOLDS, KEEPS_MS, AT_MS, ENDED = "holds", "keeps_ms", "at_ms", "ended"
ASIDE = (HOLDS, KEEPS_MS)
"""What is no part of the offset itself."""


@dataclass(frozen=True)
class Lack:
    """What is gone between two numbers of an offset, or a part as a whole (`count` 0)."""

    words: str
    count: int = 0


def is_said(latest: str) -> bool:
    """Whether a source has said what it still holds."""
    return bool(_holds(latest))


def lacks(offset: str, latest: str) -> tuple[Lack, ...] | None:
    """What is gone of all that comes after `offset`; None where that cannot be compared with what the source says."""
    at, holds = _object(offset), _holds(latest)
    try:
        return tuple(_lacks("", at, holds)) if at and holds else None
    except TypeError:
        return None


def keeps_ms(latest: str) -> int | None:
    """How long a source says that it keeps a row."""
    kept = _object(latest).get(KEEPS_MS)
    return kept if type(kept) is int and kept > 0 else None


def until_ms(offset: str, latest: str) -> int | None:
    """Until when all that comes after `offset` is kept for certain: nothing of it came before the last row that was read. None where
    nothing says so."""
    kept, came = keeps_ms(latest), list(_came_ms(_object(offset)))
    return min(came) + kept if kept is not None and came and all(came) else None


def waits(end: str, latest: str) -> int | None:
    """By how much the numbers of a reported latest offset are ahead of those of `end`; None where the source does not say what it holds."""
    at, newest = _object(end), _object(latest)
    if not is_said(latest):
        return None
    newest = {name: value for name, value in newest.items() if name not in ASIDE}
    return sum(max(0, last - _at(at, path)) for path, last in _numbers((), newest))


def _lacks(place: str, at: Mapping[str, Any], holds: Mapping[str, Any]) -> Iterator[Lack]:
    """Raises TypeError for what is no number on one side alone; a name that the offset does not have begins where it begins."""
    for name, first in sorted(holds.items()):
        where, stands = f"{place}{name}", at.get(name)
        if stands is None:
            continue
        if isinstance(first, Mapping) and isinstance(stands, Mapping):
            yield from _lacks(f"{where}, ", stands, first)
        elif type(first) is int and type(stands) is int:
            if stands < first:
                yield Lack(f"{where}: {stands} to {first - 1} are gone, it begins at {first}", first - stands)
        else:
            raise TypeError(where)


def _numbers(path: tuple[str, ...], offset: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], int]]:
    for name, value in offset.items():
        if isinstance(value, Mapping):
            yield from _numbers((*path, name), value)
        elif type(value) is int:
            yield (*path, name), value


def _came_ms(offset: Mapping[str, Any]) -> Iterator[int]:
    if offset.get(ENDED) is True:
        return
    for name, value in offset.items():
        if isinstance(value, Mapping):
            yield from _came_ms(value)
        elif name == AT_MS:
            yield value if type(value) is int else 0


def _at(offset: Any, path: tuple[str, ...]) -> int:
    for name in path:
        offset = offset.get(name) if isinstance(offset, Mapping) else None
    return offset if type(offset) is int else 0


def _holds(latest: str) -> Mapping[str, Any]:
    holds = _object(latest).get(HOLDS)
    return holds if isinstance(holds, Mapping) else {}


def _object(text: str) -> Mapping[str, Any]:
    try:
        read = read_json(text) if text else None
    except ValueError:
        return {}
    return read if isinstance(read, Mapping) else {}
