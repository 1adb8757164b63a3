"""The columns that a deduplication tells rows apart by, each taken apart alone, so that those of two codes can be matched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.planned_columns import PlannedKey
from pipelines.driver.planning.columns import Columns
from pipelines.driver.planning.doors import Doors
from pipelines.driver.planning.forms import items
from pipelines.driver.planning.own import Own

NODES = {"Deduplicate", "DeduplicateWithinWatermark"}


def of(opened: Doors, spark: Any, logical: Any, sources: Mapping[tuple[int, ...], Any], own: Own) -> tuple[PlannedKey, ...]:
    """The key's columns in the order of the state; `logical` is the deduplication in the analyzed plan. None where they cannot be told
    apart."""
    from py4j.protocol import Py4JError

    if logical.getClass().getSimpleName() not in NODES:
        return ()
    try:
        taken = Columns(opened, spark, logical.child(), sources, own)
        return tuple(taken.one(column) for column in items(logical.keys()))
    except Py4JError:
        return ()
