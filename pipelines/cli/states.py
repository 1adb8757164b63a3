"""The verb of state: look into what a savepoint remembers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from pipelines.cli import formats, options, output
from pipelines.cli.following import followed
from pipelines.cli.session import Here, opened
from pipelines.domain import states
from pipelines.domain.states import MOST_ROWS, StateColumn, StateQuery, StateRequest, StateRows, StateTable

MOST_CHARS = 60


def register(app: typer.Typer) -> None:
    """Adds this module's verb."""
    app.command()(state)


def state(
    ctx: typer.Context,
    savepoint: options.SavepointNamed,
    query: Annotated[str, typer.Option("--query", help="The streaming query.")] = "",
    operator: Annotated[int | None, typer.Option("--operator", help="Id of the stateful operator.")] = None,
    store: Annotated[str, typer.Option("--store", help="The state store; of a join also left or right.")] = "",
    variable: Annotated[str, typer.Option("--variable", help="The state variable of a transformWithState.")] = "",
    sql: Annotated[str, typer.Option("--sql", help="One SELECT over the view 'state': key and value (structs), partition_id.")] = "",
    filter: Annotated[str, typer.Option("--filter", help="Only rows that hold this text.")] = "",
    sort: Annotated[str, typer.Option("--sort", help="Order by this column (key.post), '-' before it for the greatest first.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many rows to print.")] = 20,
    read_rows: Annotated[int, typer.Option("--read-rows", min=1, help="How many rows Spark shall read and keep at most.")] = MOST_ROWS,
    tables: Annotated[bool, typer.Option("--tables", help="List the savepoint's tables of state, and read nothing.")] = False,
    workspace: options.Workspace = None,
    as_json: options.AsJson = False,
) -> None:
    """Look into a savepoint's state: its keys and values, read by Spark once and kept. Where the savepoint has several tables of state
    (operators, sides of a join, state variables), the options name the one; --tables lists them. Ctrl-C cancels the reading."""
    options.at_most_one(sql=sql, filter=filter)
    options.at_most_one(sql=sql, sort=sort)
    with opened(ctx, workspace, as_json) as here:
        named = options.savepoint_name(savepoint)
        known = here.face.states(named)
        if tables:
            here.show(known, _tables(known) if known else "")
            return
        one = states.chosen(known, StateRequest(query, operator, store, variable))
        _read(here, named, one, read_rows)
        asked = StateQuery(one.query, one.operator, one.store, one.variable, sort.removeprefix("-"), sort.startswith("-"), filter, sql)
        _show(here, one, here.face.query_state(named, replace(asked, limit=limit)))


def _read(here: Here, savepoint: str, table: StateTable, limit: int) -> None:
    """Reads the table; one that was read before is there at once."""
    request = StateRequest(table.query, table.operator, table.store, table.variable, limit)
    followed(here, lambda: here.face.read_state(savepoint, request))
    found = states.chosen(here.face.states(savepoint), request).reading
    if found is not None and not found.whole:
        output.tell(f"read {formats.count(found.rows)} of {formats.count(found.total)} rows; --read-rows reads more")


def _show(here: Here, table: StateTable, found: StateRows) -> None:
    titles = tuple(f"{one.name}>" if one.kind == "number" else one.name for one in found.columns)
    rows = [[_cell(value, column) for value, column in zip(row, found.columns, strict=True)] for row in found.rows]
    here.show(found, output.Table(titles, rows) if titles else "")
    if found.more and not here.as_json:
        of = f" of {formats.count(found.matches)}" if found.matches is not None else ""
        output.tell(f"the first {formats.counted(len(rows), 'row')}{of} of {table.title}; --limit shows more")


def _cell(value: Any, column: StateColumn) -> str:
    if value is None:
        return formats.NOTHING
    if column.kind == "time":
        return formats.exact(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1]}…"


def _tables(known: Sequence[StateTable]) -> output.Table:
    titles = ("QUERY", "OPERATOR>", "NAME", "STORE", "VARIABLE", "PARTITIONS>", "SIZE>", "OPERATOR ROWS>", "READ>")
    return output.Table(titles, [_row(one) for one in known])


def _row(one: StateTable) -> tuple[str, ...]:
    return (
        one.query,
        str(one.operator),
        one.name or formats.NOTHING,
        f"{one.store} (internal)" if one.internal else one.store,
        f"{one.variable} ({one.kind})" if one.variable else formats.NOTHING,
        formats.count(one.partitions),
        formats.size(one.bytes),
        formats.count(one.operator_rows),
        formats.count(one.reading.rows if one.reading else None),
    )
