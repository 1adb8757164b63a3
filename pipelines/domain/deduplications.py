"""The state of a deduplication under another key: each key that was seen becomes the key that the changed code would have seen.

With wider columns, keys that differed still do. With a column less, those that differ in nothing else become one. That is the state of the
changed code where they go together: by an event time that stays in the key, or never.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import BY_FUNCTION, Aggregate, Becomes, ByColumns
from pipelines.domain.planned_columns import PlannedKey
from pipelines.domain.plannings import PlannedOperator
from pipelines.domain.types import is_wider

DEDUPLICATION, WITHIN_WATERMARK = "dedupe", "dedupeWithinWatermark"
KINDS = (DEDUPLICATION, WITHIN_WATERMARK)
NEVER_NULL = (0,)
"""Of the value within the watermark, which says until when a key is kept."""


def by_columns(query: str, old: PlannedOperator | None, new: PlannedOperator, key: Sequence[str], value: Sequence[str]) -> ByColumns:
    """How the key of `new` comes out of that of `old`; `key` and `value` are the names of the columns of the old state, each once.

    Raises Unsupported (`migrate.operators`) where the old state does not determine the new."""
    if old is None or not new.keys or [column.name for column in old.keys] != list(key):
        raise _refused(query, new, "the columns of its key before and now cannot be told apart")
    free = list(old.keys)
    made: list[Aggregate] = []
    expressions: list[str] = []
    gaps: list[str] = []
    for column in new.keys:
        before = match(free, column)
        if before is None:
            raise _refused(query, new, f"{column.name} is new in its key, or computed otherwise, and the state does not say it")
        free.remove(before)
        gaps += [*before.gaps, *column.gaps]
        made.append(Aggregate(Becomes.KEPT if before.kind == column.kind else Becomes.WIDENED, column.name))
        expressions.append(f"key.`{key[old.keys.index(before)]}`")
    for column in free:
        _refuse_dropped(query, new, column)
    made += [Aggregate(Becomes.DROPPED, column.name) for column in free]
    values = tuple(f"value.`{name}`" for name in value)
    changes = expressions != [f"key.`{name}`" for name in key] or any(aggregate.becomes is not Becomes.KEPT for aggregate in made)
    return ByColumns(tuple(made), values, changes, tuple(dict.fromkeys(gaps)), tuple(expressions))


def match(free: Sequence[PlannedKey], new: PlannedKey) -> PlannedKey | None:
    """The column among `free` that `new` is, or is the wider of; None where there is none."""
    same = (old for old in free if old.digest == new.digest and old.kind == new.kind)
    wider = (old for old in free if old.narrow == new.narrow and is_wider(old.kind, new.kind))
    return next(same, None) or next(wider, None)


def _refuse_dropped(query: str, new: PlannedOperator, column: PlannedKey) -> None:
    if new.name == WITHIN_WATERMARK:
        raise _refused(query, new, f"{column.name} is no part of its key any more, and which row came first is not in the state")
    if column.is_event_time:
        raise _refused(query, new, f"its key has no event time any more ({column.name}), and keys before the watermark are gone")


def _refused(query: str, operator: PlannedOperator, why: str) -> Unsupported:
    message = f"{query}.{operator.id} ({operator.name}) cannot be migrated by columns: {why}"
    hint = f"{BY_FUNCTION} Or keep its key as it was; or drop its state, so that it begins empty: --drop {query}.{operator.id}."
    return Unsupported("migrate.operators", message, hint)
