"""The state of an applyInPandasWithState under another state type: each column of the user's struct is found again by its name."""

from __future__ import annotations

import json
from typing import Any

from pipelines.domain import struct_columns
from pipelines.domain.errors import Unsupported
from pipelines.domain.migrations import Aggregate, Becomes, ByColumns
from pipelines.domain.struct_columns import Struct
from pipelines.domain.types import is_wider

STATE = "groupState"
"""Spark's column with the user's struct; of a group that has nothing but a timeout it is null."""


def by_columns(query: str, operator: int, old: Struct, new: Struct) -> ByColumns:
    """How the value `new` comes out of the value `old`: columns are kept, wider, dropped, or null where they are new.

    Raises Unsupported (`migrate.operators`) for a column of another type, and where there are timeouts and were none, or the other way."""
    if _names(old) != _names(new) or STATE not in _names(new):
        raise refused(query, operator, "it has timeouts now and had none, or the other way round")
    before, after = ({field["name"]: field["type"] for field in _state(value)["fields"]} for value in (old, new))
    made = [_becomes(query, operator, name, before.get(name), kind) for name, kind in after.items()]
    made += [Aggregate(Becomes.DROPPED, name) for name in before if name not in after]
    columns = ", ".join(f"value.`{STATE}`.`{name}`" if name in before else "NULL" for name in after)
    named = f"IF(value.`{STATE}` IS NULL, NULL, struct({columns}))"
    expressions = tuple(named if name == STATE else f"value.`{name}`" for name in _names(new))
    return ByColumns(tuple(made), expressions, True)


def check_key(query: str, operator: int, old: Struct, new: Struct) -> None:
    """Raises Unsupported (`migrate.operators`) where Spark, which reads by position, does not read in the key `old` what `new` means."""
    if not struct_columns.fits(old, new):
        raise refused(query, operator, "it groups by another key than before")


def fits(old: Struct, new: Struct) -> bool:
    """Whether Spark, which reads by position, reads in `old` what `new` means: the same columns, or some that were renamed."""
    return _names(old) == _names(new) and struct_columns.fits(_state(old), _state(new))


def _names(value: Struct) -> list[str]:
    return [field["name"] for field in value["fields"]]


def _state(value: Struct) -> Struct:
    state: Struct = next(field["type"] for field in value["fields"] if field["name"] == STATE)
    return state


def _becomes(query: str, operator: int, name: str, old: Any, new: Any) -> Aggregate:
    if old is None:
        return Aggregate(Becomes.ADDED, f"{name} (null)")
    if old == new:
        return Aggregate(Becomes.KEPT, name)
    if not is_wider(json.dumps(old), json.dumps(new)):
        raise refused(query, operator, f"{name} is of another type, and not of a wider one")
    return Aggregate(Becomes.WIDENED, name)


def refused(query: str, operator: int, why: str) -> Unsupported:
    message = f"{query}.{operator} (applyInPandasWithState) cannot be migrated by columns: {why}"
    hint = f"Give a function that makes the new rows (--migrate FILE:function); or drop its state, so that it begins empty: --drop {query}."
    return Unsupported("migrate.operators", message, f"{hint}{operator}.")
