"""The outputs of two jobs, compared row for row in DuckDB: hashed, in memory or spilled to disk, never rows in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipelines.catalog import exact_numbers, interval_columns, output_columns, output_rows
from pipelines.catalog.connection import scratch
from pipelines.catalog.output_columns import Column
from pipelines.catalog.output_files import Options, Output, let_read, sides
from pipelines.domain.experiments import Comparison
from pipelines.domain.ids import JobName

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


NAMELESS = (JobName(""), JobName(""), "")
"""Jobs and query of a comparison; who asked for it names them."""


def compare(
    files_a: Sequence[str],
    files_b: Sequence[str],
    *,
    format: str = "parquet",
    keys: Sequence[str] = (),
    examples: int = 20,
    until_ms: int | None = None,
    time_column: str = "",
    options: tuple[Options, Options] = (None, None),
    foldered: tuple[bool, bool] = (True, True),
) -> Comparison:
    """What the rows in A's and B's data files have in common and what not.

    With `until_ms` only rows whose time is known and at most that count. `options` are those of the sides' sinks; `foldered` says of each
    side whether columns of it stand in its folders' names alone, as with file sinks and Delta, not with Iceberg. Corrupt for missing or
    damaged files, Unavailable for those that the user of jobs' code may not read, Incompatible for outputs that share no columns, Invalid
    for keys or a time column they do not share, Unsupported for another format.
    """
    let_read(files_a, files_b)
    with scratch() as db:
        (a, b), told = sides(db, (files_a, files_b), format, options, foldered)
        notes = [f"{side} has no output yet." for side, table in (("A", a), ("B", b)) if table is None]
        template = a or b
        if template is None:
            return _nothing(notes)
        a, b, written = exact_numbers.exact(db, a, b, format)
        template = a or b or template
        notes += told + written
        return _compared(db, a or template.emptied(), b or template.emptied(), keys, examples, until_ms, time_column, notes)


def _nothing(notes: Sequence[str]) -> Comparison:
    nowhere: dict[str, list[Any]] = {"only_a": [], "only_b": [], "changed": []}
    return Comparison(*NAMELESS, (), (), 0, 0, 0, 0, 0, 0, None, nowhere, None, " ".join(notes))


def _compared(
    db: DuckDBPyConnection,
    a: Output,
    b: Output,
    asked_keys: Sequence[str],
    examples: int,
    until_ms: int | None,
    asked_time: str,
    notes: list[str],
) -> Comparison:
    columns = output_columns.shared(a.columns, b.columns, interval_columns.of_both(a.intervals, b.intervals))
    time = output_columns.time_column(columns, asked_time)
    notes = [*notes, *output_columns.differences(a.columns, b.columns)]
    if until_ms is not None and time is None:
        until_ms = None
        notes.append("No column holds a time, so all rows were compared.")
    output_rows.load(db, a, b, columns, time, until_ms)
    keys = _keys(db, columns, asked_keys, notes)
    tally = output_rows.tally(db, columns)
    changed = output_rows.changed(db, columns, keys)
    measures = [column for column in columns if column.is_measure and column not in keys]
    return Comparison(
        *NAMELESS,
        columns=tuple(column.name for column in columns),
        keys=tuple(column.name for column in keys),
        rows_a=tally.rows_a,
        rows_b=tally.rows_b,
        equal=tally.rows_a - tally.surplus_a,
        only_a=tally.surplus_a - changed,
        only_b=tally.surplus_b - changed,
        changed=changed,
        until_ms=until_ms,
        examples=output_rows.examples(db, columns, keys, examples),
        over_time=output_rows.over_time(db, time, measures) if time else None,
        note=" ".join(notes),
        parting=output_rows.parting(db, columns, keys, time) if time else None,
        columns_apart=output_columns.apart(a.columns, b.columns),
    )


def _keys(db: DuckDBPyConnection, columns: Sequence[Column], asked: Sequence[str], notes: list[str]) -> tuple[Column, ...]:
    """The columns that identify a row on both sides: those asked for, else all candidates; none, with a note, if they do not."""
    keys = output_columns.asked_keys(columns, asked) or tuple(column for column in columns if column.may_be_key)
    if not keys:
        notes.append("No column can be a key, so whole rows were compared.")
    elif not output_rows.unique(db, keys):
        named = ", ".join(column.name for column in keys)
        notes.append(f"{named} {'has' if len(keys) == 1 else 'have'} the same values in several rows, so whole rows were compared.")
    else:
        return keys
    return ()
