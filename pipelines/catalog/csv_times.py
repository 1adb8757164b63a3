"""Times of CSV outputs that a job writes by patterns of its own: read where the sides' patterns are known, else told of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.catalog.sql import literal, quoted
from pipelines.catalog.tables import row
from pipelines.domain.csv_options import DATES, MOMENTS, Dialect
from pipelines.domain.java_times import TimeForm

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DATE, LOCAL, MOMENT = "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"
TIMES = (DATE, LOCAL, MOMENT)
TEXT, WHOLE = "VARCHAR", "BIGINT"
READ = "Times of {name} are written as {a} in A and as {b} in B: they are compared as the times that they are."
APART = "Times of {name} are written as {a} in A and as {b} in B: they are compared as texts, so rows differ by that alone."
_SPARKS = {DATE: "%Y-%m-%d", LOCAL: "%Y-%m-%dT%H:%M:%S.%f", MOMENT: "%Y-%m-%dT%H:%M:%S.%fZ"}
_SAMPLED = 2_000
_LOOKS = r"(.*[^0-9])?((19|20)[0-9]{2}([^0-9].*)?|(19|20)[0-9]{6}.*|[0-9]{1,2}:[0-9]{2}([^0-9].*)?)"
"""What a text has that may be a time: a year, or hours and minutes."""
_LONGEST = 40


@dataclass(frozen=True)
class Reading:
    """How a column's texts are read. `zone` is that of times which name none, unless it is UTC's."""

    form: TimeForm
    kind: str
    zone: str = ""

    def value(self, text: str) -> str:
        """SQL: the time of a text; null where it is none."""
        return f"try_strptime({text}, [{', '.join(map(literal, self.form.strptime))}])"


def read(
    db: DuckDBPyConnection, texts: Sequence[str], kinds: Sequence[Mapping[str, str | None]], dialects: Sequence[Dialect | None]
) -> tuple[list[str], list[dict[str, str | None]], dict[str, str]]:
    """What to write after FROM for each side, with times as Spark writes them without options where all sides can be read; the types of the
    columns then; and what is to be said of each. Sides without a dialect are as they are."""
    readings = [_readings(db, *side) for side in zip(texts, kinds, dialects, strict=True)]
    replaced: list[dict[str, str]] = [{} for _ in texts]
    after, notes = [dict(own) for own in kinds], dict[str, str]()
    for name in dict.fromkeys(name for own in after for name in own):
        there = [at for at, own in enumerate(after) if own.get(name) is not None]
        known = [readings[at].get(name) for at in there]
        seen = [after[at][name] if reading is None else LOCAL for at, reading in zip(there, known, strict=True)]
        can_meet = any(known) and set(seen) <= set(TIMES) and len({reading.zone if reading else "" for reading in known}) == 1
        is_apart = (any(known) and set(seen) <= set(TIMES)) or _look_apart(db, [texts[at] for at in there], seen, name)
        if not can_meet and not is_apart:
            continue
        for at, reading in zip(there, known, strict=True):
            if reading is not None and can_meet:
                written = f"strftime({reading.value(quoted(name))}, {literal(_SPARKS[reading.kind])})"
                replaced[at][name] = f"{written} AS {quoted(name)}"
            after[at][name] = TEXT if not can_meet else reading.kind if reading is not None else after[at][name]
        words = [_words(db, texts[at], name, reading) for at, reading in zip(there, known, strict=True)]
        if len(set(words)) > 1:
            notes[name] = (READ if can_meet else APART).format(name=name, a=words[0], b=words[-1])
    return [_replaced(text, own) for text, own in zip(texts, replaced, strict=True)], after, notes


def _replaced(text: str, replaced: Mapping[str, str]) -> str:
    return f"(SELECT * REPLACE ({', '.join(replaced.values())}) FROM {text})" if replaced else text


def _readings(db: DuckDBPyConnection, text: str, kinds: Mapping[str, str | None], dialect: Dialect | None) -> dict[str, Reading]:
    """Column -> how all of its texts can be read."""
    if dialect is None:
        return {}
    columns = [name for name, kind in kinds.items() if kind in (TEXT, WHOLE, *TIMES)]
    found = ((name, _reading(option, form, dialect)) for name in columns for option, form in dialect.times)
    read: dict[str, Reading] = {}
    for name, reading in found:
        if name not in read and all(_fits(db, relation, name, reading) for relation in (_sample(text), text)):
            read[name] = reading
    return read


def _reading(option: str, form: TimeForm, dialect: Dialect) -> Reading:
    if option == DATES or not form.has_clock:
        return Reading(form, DATE, "" if option != MOMENTS or dialect.is_utc else dialect.zone)
    if option == MOMENTS and (form.has_zone or dialect.is_utc):
        return Reading(form, MOMENT)
    return Reading(form, LOCAL, dialect.zone if option == MOMENTS else "")


def _fits(db: DuckDBPyConnection, relation: str, name: str, reading: Reading) -> bool:
    text = quoted(name)
    fits = f"regexp_full_match({text}, {literal(reading.form.regex)}) AND {reading.value(text)} IS NOT NULL"
    return row(db, f"SELECT bool_and({fits}) FROM {relation} WHERE {text} IS NOT NULL") == (True,)


def _look_apart(db: DuckDBPyConnection, texts: Sequence[str], kinds: Sequence[str | None], name: str) -> bool:
    """Whether all sides of a column look like times, of which one is not written as Spark does without options, and no two alike."""
    if len(texts) < 2 or TEXT not in kinds or not set(kinds) <= {TEXT, *TIMES}:
        return False
    text = quoted(name)
    shape = f"regexp_replace(regexp_replace({text}, '[0-9]+', '9', 'g'), '[A-Za-z]+', 'a', 'g')"
    looks = f"bool_and(length({text}) <= {_LONGEST} AND regexp_full_match({text}, {literal(_LOOKS)}))"
    seen = [row(db, f"SELECT {looks}, list(DISTINCT {shape}) FROM {_sample(side)} WHERE {text} IS NOT NULL") for side in texts]
    shapes = [set(shape) if is_time and shape else set() for is_time, shape in filter(None, seen)]
    return all(0 < len(own) <= 2 for own in shapes) and not shapes[0] & shapes[-1]


def _words(db: DuckDBPyConnection, text: str, name: str, reading: Reading | None) -> str:
    """The pattern, or one of the texts."""
    if reading is not None:
        return f"{reading.form.pattern}, in {reading.zone}" if reading.zone else reading.form.pattern
    (example,) = row(db, f"SELECT min({quoted(name)}) FROM {_sample(text)}") or ("",)
    return f"{example!r}"


def _sample(text: str) -> str:
    return f"(SELECT * FROM {text} LIMIT {_SAMPLED})"
