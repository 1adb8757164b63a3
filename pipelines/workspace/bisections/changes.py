"""The keys of a bisection: what became otherwise from the last right batch to the first wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.catalog import outputs
from pipelines.catalog.judging import Rows
from pipelines.domain.bisections import Changes, Over

KEY = "key"
"""The column of a reading of state that names a row."""


def between(right: Rows, wrong: Rows, examples: int) -> Changes | None:
    """Row by row, at most `examples` of each kind. Files that both have are passed over."""
    is_state = right.view == Over.STATE.value
    files = [tuple(file for file in rows.files if file not in other.files) for rows, other in ((right, wrong), (wrong, right))]
    if is_state and not all(Path(file).is_file() for of_side in files for file in of_side):
        return None
    keys = (KEY,) if is_state and any(files) else ()
    options = (right.options, wrong.options)
    comparison = outputs.compare(files[0], files[1], format=wrong.format, keys=keys, examples=examples, options=options)
    shown = {kind: tuple(_flat(row) if is_state else row for row in rows) for kind, rows in comparison.examples.items()}
    counts = (comparison.equal, comparison.only_a, comparison.only_b, comparison.changed)
    return Changes(comparison.columns, comparison.keys, *counts, shown, comparison.note if all(files) else "")


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """With a column for each field: `key.post`, `a.value.views`."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat |= {f"{name}.{field}": inner for field, inner in value.items()} if isinstance(value, dict) else {name: value}
    return flat
