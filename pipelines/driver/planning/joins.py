"""What a join of two streams keeps of each side, taken apart, so that the columns of two codes can be matched.

The logical plan is the optimized one that the join was planned from: filters above the join that Spark moved below it stand there, as they
say which rows are kept. It is optimized again with what alone is asked for: the rows without a column, or with one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.planned_columns import PlannedJoin
from pipelines.driver.planning.columns import EVENT_TIME, Columns
from pipelines.driver.planning.doors import Doors
from pipelines.driver.planning.forms import items
from pipelines.driver.planning.own import Own


def of(opened: Doors, spark: Any, node: Any, sources: Mapping[tuple[int, ...], Any], own: Own) -> PlannedJoin | None:
    """The join that `node` of the physical plan is; None where it cannot be taken apart."""
    from py4j.protocol import Py4JError

    try:
        link = node.logicalLink()
        if link.isEmpty() or link.get().getClass().getSimpleName() != "Join":
            return None
        logical, gaps = link.get(), dict[str, None]()
        digest = Columns(opened, spark, logical, sources, own).rows(gaps)
        sides = ((logical.left(), node.left()), (logical.right(), node.right()))
        taken = [(Columns(opened, spark, rows, sources, own), physical) for rows, physical in sides]
        timed_by = next((at for at in map(_timed_by, (node.leftKeys(), node.rightKeys())) if at is not None), None)
        left, right = (tuple(columns.one(column) for column in items(physical.output())) for columns, physical in taken)
    except Py4JError:
        return None
    return PlannedJoin(digest, left, right, tuple(gaps), timed_by)


def _timed_by(keys: Any) -> int | None:
    """The first of a side's keys that has a watermark (StreamingSymmetricHashJoinHelper.findJoinKeyOrdinalForWatermark)."""
    columns = ((at, key) for at, key in enumerate(items(keys)) if key.getClass().getSimpleName() == "AttributeReference")
    return next((at for at, key in columns if key.metadata().contains(EVENT_TIME)), None)
