"""Changed meanings in words: one key, with what it has in the savepoint and after the same batch of either code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.changed_meanings import LONGEST_S, KeyExample, Rows
from pipelines.words import formats

NONE = "In this batch no key has another value than the code before gives it."
NONE_CHANGED = "The batch has changed no key of it."
UNFINISHED = f"No example key was found in {formats.duration(LONGEST_S * 1000)}, and Spark looks no longer: all else of the trial stands."
NOTHING = "nothing"
MOST_CHARS = 120
WHOLE_SECOND = ".000000Z"
"""How Spark ends a time without a fraction: windows begin and end so."""


def sentence(example: KeyExample, why_no_old: str) -> str:
    """`key post=p1: `sum` is 333 in the savepoint; after the same batch the old code has 343, the new code has 334.`"""
    columns = "; and ".join(_column(example, name) for name in example.differing)
    return " ".join(filter(None, (f"{key(example.key)}: {columns}.", why_no_old)))


def key(columns: Mapping[str, Any]) -> str:
    """`key post=p1, window.start=2026-01-01T00:30:00Z`."""
    named = ", ".join(f"{name}={formats.value(value, MOST_CHARS).replace(WHOLE_SECOND, 'Z')}" for name, value in columns.items())
    return f"key {named}" if columns else "the one row without a key"


def cell(rows: Rows, name: str) -> str:
    """What a key has in a column: the value, a list of them where it has several rows, `nothing` where it has none."""
    values = [row.get(name) for row in rows if name in row]
    return NOTHING if not values else formats.value(values[0] if len(values) == 1 else values, MOST_CHARS)


def column(example: KeyExample, name: str) -> str:
    """A column as both codes say it: `sum(n) AS views, now count(n) AS views`."""
    return f"{name}, now {example.now[name]}" if name in example.now else name


def _column(example: KeyExample, name: str) -> str:
    saved, new = (cell(rows, name) for rows in (example.saved, example.new))
    before = example.saved if example.old is None else (*example.saved, *example.old)
    if _lacks(before, name):
        return f"`{name}`, which only the new code keeps, is {new} after the next batch"
    if _lacks(example.new, name):
        after = "" if example.old is None else f", and {cell(example.old, name)} after the same batch of the old code"
        return f"`{name}`, which the new code does not keep, is {saved} in the savepoint{after}"
    code = f"the new code, for which that is `{example.now[name]}`," if name in example.now else "the new code"
    if example.old is None:
        return f"`{name}` is {saved} in the savepoint, and {new} after the next batch of {code.rstrip(',')}"
    return f"`{name}` is {saved} in the savepoint; after the same batch the old code has {cell(example.old, name)}, {code} has {new}"


def _lacks(rows: Rows, name: str) -> bool:
    """Whether the rows, where there are any, have no such column."""
    return bool(rows) and not any(name in row for row in rows)
