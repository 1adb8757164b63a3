"""Changed meanings: state that goes on under changed code and means something else there, or was rewritten for it, shown at one key of one
batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.ids import QueryName
from pipelines.domain.verdicts import Outcome

MOST_KEYS = 2_000_000
"""Of an operator with more keys no example is looked for: all of its state is read for one."""
LONGEST_S = 60.0
"""So long Spark looks for examples, beside what both codes took for their batch: without one the trial's answer stands all the same."""

Rows = tuple[Mapping[str, Any], ...]
"""What a key has: no row, one, or (a side of a join, a list) several; column -> JSON value, times in UTC."""


@dataclass(frozen=True)
class KeyExample:
    """A key at three points: in the savepoint, and after one and the same batch of either code."""

    key: Mapping[str, Any]
    """Column (`post`, `window.start`) -> value."""
    saved: Rows
    old: Rows | None
    """After the batch under the savepoint's own code; None where that did not run on the same input."""
    new: Rows
    now: Mapping[str, str] = field(default_factory=dict)
    """Column, as the code before has it -> what the new code keeps in its place, where that is something else."""

    @property
    def differing(self) -> tuple[str, ...]:
        """The columns in which the new code's rows are others than the old code's (than the savepoint's, where those are not known)."""
        before = self.saved if self.old is None else self.old
        names = dict.fromkeys(name for rows in (before, self.new) for row in rows for name in row)
        return tuple(name for name in names if [row.get(name) for row in before] != [row.get(name) for row in self.new])


@dataclass(frozen=True)
class ChangedMeaning:
    """A stateful operator whose state means something else under the changed code, or was rewritten, as a trial of that code has shown."""

    query: QueryName
    operator: int
    name: str
    """Spark's name of the operator."""
    reasons: tuple[str, ...]
    """The verdict's: what was computed before, and what is now."""
    batch: int
    """The batch that both codes ran."""
    example: KeyExample | None
    """A key whose values differ; None where the batch has changed none, or none was looked for."""
    sentence: str
    """The example in words, or why there is none."""
    outcome: Outcome = Outcome.CHANGED_MEANING
    """The verdict's."""


def flat(value: Any) -> Mapping[str, Any]:
    """A row as Spark's state reader has it (`key`, `value`, … with structs) with a column for each field, named by its path without what
    it stands in."""
    return {name.partition(".")[2] or name: inner for name, inner in _paths(value, "")}


def in_words(row: Mapping[str, Any], columns: Sequence[str]) -> Mapping[str, Any]:
    """The row of an aggregation with the last columns of its value under these names, as its code says them; as it is without any."""
    value = row.get("value")
    if not columns or not isinstance(value, Mapping) or len(value) < len(columns):
        return row
    return {**row, "value": dict(zip((*list(value)[: -len(columns)], *columns), value.values(), strict=True))}


def _paths(value: Any, path: str) -> list[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        return [(path, value)]
    return [pair for name, inner in value.items() for pair in _paths(inner, f"{path}.{name}" if path else str(name))]
