"""Lists in pages, filtered and sorted: what a declaration of a list says of its rows, and the page that a question asks for.

A list that is asked for nothing is whole, in its usual order. A page goes on after a row, by what that row was sorted by: rows that come
and go meanwhile move no others.
"""

from __future__ import annotations

import base64
import functools
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar, cast

from pipelines.domain.errors import Invalid
from pipelines.domain.json_text import read_json
from pipelines.verbs.reads import Reads
from pipelines.verbs.rows import REVERSED, Filter, Rows
from pipelines.verbs.verb import Question, Shell, Spelling, option, spelling

Q = TypeVar("Q", bound="Listed")
R = TypeVar("R")
MOST_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class Sorted:
    """A list whose rows can be asked for in another order than its usual one."""

    sort: str = option(
        "By this field of the answer; with - in front from the greatest down. What has none comes last. As usual if empty.",
        "",
        metavar="FIELD",
    )

    rows: ClassVar[Rows]

    @property
    def is_down(self) -> bool:
        """Whether what is greatest comes first."""
        return self.sort.startswith(REVERSED)


@dataclass(frozen=True, kw_only=True)
class Listed(Sorted):
    """What every list can be asked for besides its own fields, of which those with a `Filter` choose rows."""

    limit: int = option("At most this many; 0 for all.", 0, least=0, most=MOST_ROWS)
    after: str = option(
        'Only what comes after this place: the header `Link` (`rel="next"`) of a list with a limit has it.', "", shell=Shell.ABSENT
    )

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is asked for that may need more than the usual rows."""
        return any(getattr(self, part.name) != part.default for part in fields(self))


@dataclass(frozen=True, kw_only=True)
class ListedByTime(Listed):
    """A list whose rows were each made at a time, `created_ms`."""

    from_ms: int | None = option(
        "Not from before this time: 2027-01-15T08:00, 08:00:30 (today) or -10m.",
        None,
        flag="--since",
        metavar="TIME",
        reads=Reads.MOMENT,
        filters=Filter("created_ms", operator.ge),
    )
    to_ms: int | None = option(
        "Not after this time.", None, flag="--until", metavar="TIME", reads=Reads.MOMENT, filters=Filter("created_ms", operator.le)
    )


def spelling_of(name: str) -> Spelling:
    """How a field that every list has is spelt."""
    return next(spelling(part) for part in fields(Listed) if part.name == name)


def page(question: Listed, rows: Sequence[R]) -> Sequence[R]:
    """The rows that are asked for. Invalid for a field that it cannot be sorted by (`list.sort`) and for a place that is none
    (`list.after`)."""
    if not question.is_narrowed:
        return rows
    ordered = _ordered(question, [row for row in rows if _fits(question, row)])
    rest = ordered[_start(question, ordered) :]
    shown = rest[: question.limit] if question.limit else rest
    return tuple(shown) if isinstance(rows, tuple) else shown


def next_page(question: Q, rows: Sequence[Any]) -> Q | None:
    """The question for what comes after these rows, which `question` was answered with; None where that was all."""
    if not question.limit or len(rows) < question.limit:
        return None
    seen = _place(question).offset + len(rows) if question.after else len(rows)
    last = rows[-1]
    value = None if not question.sort else _value(last, sorted_path(question))
    place = json.dumps([question.sort, value, str(_value(last, question.rows.id)), seen])
    return replace(question, after=base64.urlsafe_b64encode(place.encode()).decode())


def pages(ask: Callable[[Any], Sequence[R]], question: Listed) -> Iterator[R]:
    """Every row of a list with a limit, a page after the other; `ask` is a face's."""
    following: Listed | None = question
    while following is not None:
        rows = ask(cast(Question[Sequence[R]], following))
        yield from rows
        following = next_page(following, rows)


@dataclass(frozen=True)
class _Place:
    """A row's place in a list: what it was sorted by, its id, how many came before it."""

    sort: str
    value: Any
    id: str
    offset: int


def _place(question: Listed) -> _Place:
    with suppress(ValueError, TypeError):
        place = _Place(*read_json(base64.urlsafe_b64decode(question.after)))
        is_sound = isinstance(place.value, str | int | float | None) and isinstance(place.offset, int) and isinstance(place.id, str)
        if is_sound and place.sort == question.sort and place.offset >= 0:
            return place
    raise Invalid("list.after", f"{question.after[:80]!r} is no place of this list", "Take it from the header Link, with the same sort.")


def _start(question: Listed, ordered: Sequence[Any]) -> int:
    """How many rows come before the page. Unsorted it goes on after the row of that id, or, where that is gone, after as many."""
    if not question.after:
        return 0
    place = _place(question)
    if question.sort:
        with suppress(TypeError):
            return sum(_compared(question, _key(question, row), (place.value, place.id)) <= 0 for row in ordered)
        raise Invalid("list.after", "The place has another kind of value", "Take it from the header Link.")
    ids = (number for number, row in enumerate(ordered) if str(_value(row, question.rows.id)) == place.id)
    return next(ids, place.offset - 1) + 1


def _ordered(question: Listed, rows: list[R]) -> list[R]:
    if not question.sort:
        return rows
    sorted_path(question)
    return sorted(rows, key=functools.cmp_to_key(lambda a, b: _compared(question, _key(question, a), _key(question, b))))


def sorted_path(question: Sorted) -> str:
    """The path of what it is sorted by; Invalid (`list.sort`) where that is no field that it can be sorted by."""
    name = question.sort.removeprefix(REVERSED)
    if name not in question.rows.sorts:
        hint = f"It can be sorted by {', '.join(question.rows.sorts)}; with - in front the other way round."
        raise Invalid("list.sort", f"this list is not sorted by {name!r}", hint)
    return question.rows.sorts[name]


def _key(question: Listed, row: Any) -> tuple[Any, str]:
    return _value(row, sorted_path(question)), str(_value(row, question.rows.id))


def _compared(question: Listed, a: tuple[Any, str], b: tuple[Any, str]) -> int:
    """Below zero where `a` comes before `b`: by value, none last, then by id."""
    if (a[0] is None) != (b[0] is None):
        return 1 if a[0] is None else -1
    by_value = 0 if a[0] is None else (a[0] > b[0]) - (a[0] < b[0])
    direction = -1 if question.is_down else 1
    return by_value * direction or (a[1] > b[1]) - (a[1] < b[1])


def _fits(question: Listed, row: Any) -> bool:
    """Whether each filter that is given lets it through."""
    return all(
        chosen.lets_through(_value(row, chosen.path), given)
        for part in fields(question)
        if (chosen := spelling(part).filters) is not None and (given := getattr(question, part.name)) not in (None, "")
    )


def _value(row: Any, path: str) -> Any:
    """What is at a path of attributes; None where there is none on the way."""
    for name in path.split("."):
        row = None if row is None else getattr(row, name)
    return row
