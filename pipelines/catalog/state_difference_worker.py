"""Comparisons of state, made in a process of their own: its memory is bounded, whatever the number of keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pipelines.catalog import state_differences
from pipelines.domain.state_differences import ColumnDrift, ColumnRange, KeyChanges, StateExamples, WindowChanges
from pipelines.domain.watch import Watch
from pipelines.workers.child import Caller, serve
from pipelines.workers.pool import Pool
from pipelines.workers.task import Task

TASK = Task(
    module="pipelines.catalog.state_difference_worker",
    code="state",
    title="The comparison of state",
    hint="Compare one table of state at a time: name its operator and store.",
    seconds=None,
    most=1,
)
"""It takes as long as it takes; whoever asked for it can cancel it."""


def compare(
    pool: Pool, a: Sequence[str], b: Sequence[str], several: bool, rows_file: str, watch: Watch, limit: int = 0
) -> tuple[dict[str, Any], StateExamples]:
    """What `state_differences.compare` answers; raises what that and `watch` raise, and Unavailable (`state.memory`, `state.ended`)."""
    request = {"a": list(a), "b": list(b), "several": several, "rows_file": rows_file, "limit": limit}
    told = pool.do(request, watch)
    comparison, examples = told["said"], told["examples"]
    table = {
        "keys_a": comparison["keys_a"],
        "keys_b": comparison["keys_b"],
        "changes": KeyChanges(**comparison["changes"]),
        "partitions": {int(partition): KeyChanges(**changes) for partition, changes in comparison["partitions"].items()},
        "windows": tuple(WindowChanges(window["start_ms"], KeyChanges(**window["changes"])) for window in comparison["windows"]),
        "columns": tuple(
            ColumnDrift(**{**column, "a": ColumnRange(**column["a"]), "b": ColumnRange(**column["b"])}) for column in comparison["columns"]
        ),
        "notes": tuple(comparison["notes"]),
    }
    return table, StateExamples(
        keys=tuple(examples["keys"]),
        columns=tuple(examples["columns"]),
        apart=tuple(examples["apart"]),
        rows={kind: tuple(rows) for kind, rows in examples["rows"].items()},
    )


def _compare(request: dict[str, Any], caller: Caller) -> dict[str, Any]:
    comparison, examples = state_differences.compare(**request, step=caller.step)
    table = {
        **comparison,
        "changes": asdict(comparison["changes"]),
        "partitions": {partition: asdict(changes) for partition, changes in comparison["partitions"].items()},
        "windows": [asdict(window) for window in comparison["windows"]],
        "columns": [asdict(column) for column in comparison["columns"]],
    }
    return {"said": table, "examples": asdict(examples)}


if __name__ == "__main__":
    serve(_compare)
