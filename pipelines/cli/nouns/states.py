"""State of a savepoint on the command line: its tables, read by Spark once, and queried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from pipelines.cli import output
from pipelines.cli.additions import command
from pipelines.cli.follow import done
from pipelines.cli.perform import perform
from pipelines.cli.session import Here
from pipelines.cli.words import DryRun, SavepointNamed, at_most_one, savepoint_name
from pipelines.domain import states
from pipelines.domain.states import MOST_ROWS, StateColumn, StateRows, StateTable
from pipelines.verbs.state import ListStates, QueryState, ReadState, TableNamed
from pipelines.words import formats
from pipelines.words import states as words

MOST_CHARS = 60


@command("state", "states")
def state(
    here: Here,
    savepoint: SavepointNamed,
    query: Annotated[str, typer.Option("--query", help="The streaming query.")] = "",
    operator: Annotated[int | None, typer.Option("--operator", help="Id of the stateful operator.")] = None,
    store: Annotated[str, typer.Option("--store", help="The state store; of a join also left or right.")] = "",
    variable: Annotated[str, typer.Option("--variable", help="The state variable of a transformWithState.")] = "",
    sql: Annotated[str, typer.Option("--sql", help="One SELECT over the view 'state': key and value (structs), partition_id.")] = "",
    filter: Annotated[str, typer.Option("--filter", help="Only rows that hold this text.")] = "",
    sort: Annotated[str, typer.Option("--sort", help="Order by this column (key.NAME), '-' before it for the greatest first.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many rows to print.")] = 20,
    read_rows: Annotated[int, typer.Option("--read-rows", min=1, help="How many rows Spark shall read and keep at most.")] = MOST_ROWS,
    tables: Annotated[bool, typer.Option("--tables", help="List the savepoint's tables of state, and read nothing.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Look into a savepoint's state: its keys and values, read by Spark once and kept. Where the savepoint has several tables of state
    (operators, sides of a join, state variables), the options name the one; --tables lists them. Ctrl-C cancels the reading."""
    at_most_one(sql=sql, filter=filter)
    at_most_one(sql=sql, sort=sort)
    listed = here.face.ask(ListStates(savepoint_name(savepoint)))
    if tables:
        here.show(listed, _tables(listed) if listed else "")
        return
    table = states.chosen(listed, TableNamed(query=query, operator=operator, store=store, variable=variable))
    reading = ReadState(savepoint=savepoint_name(savepoint), limit=read_rows, **table.names)
    if dry_run:
        perform(here, reading)
        return
    _read(here, reading)
    order: dict[str, Any] = {"sort": sort.removeprefix("-"), "descending": sort.startswith("-")}
    _show(here, table, here.face.ask(QueryState(savepoint=reading.savepoint, filter=filter, sql=sql, limit=limit, **order, **table.names)))


def _read(here: Here, change: ReadState) -> None:
    """Reads the table; one that was read before is there at once."""
    done(here, change)
    reading = states.chosen(here.face.ask(ListStates(change.savepoint)), change).reading
    if reading is not None and not reading.whole:
        output.tell(f"read {formats.count(reading.rows)} of {formats.count(reading.total)} rows; --read-rows reads more")


def _show(here: Here, table: StateTable, answer: StateRows) -> None:
    here.show(answer, rows_table(answer) or "")
    if answer.more and not here.as_json:
        of = f" of {formats.count(answer.matches)}" if answer.matches is not None else ""
        output.tell(f"the first {formats.plural(len(answer.rows), 'row')}{of} of {table.title}; --limit shows more")


def rows_table(answer: StateRows) -> output.Table | None:
    """The rows of an answer; None where it has no columns."""
    titles = tuple(f"{column.name}>" if column.kind == "number" else column.name for column in answer.columns)
    rows = [[_cell(value, column) for value, column in zip(row, answer.columns, strict=True)] for row in answer.rows]
    return output.Table(titles, rows) if titles else None


def _cell(value: Any, column: StateColumn) -> str:
    if value is None:
        return formats.MISSING
    if column.kind == "time":
        return words.moment(value, column, None)
    return formats.value(value, MOST_CHARS)


def _tables(state_tables: Sequence[StateTable]) -> output.Table:
    titles = ("QUERY", "OPERATOR>", "NAME", "STORE", "VARIABLE", "PARTITIONS>", "SIZE>", "OPERATOR ROWS>", "READ>")
    return output.Table(titles, [_row(table) for table in state_tables])


def _row(table: StateTable) -> tuple[str, ...]:
    return (
        table.query,
        str(table.operator),
        table.name or formats.MISSING,
        f"{table.store} (internal)" if table.internal else table.store,
        f"{table.variable} ({table.kind})" if table.variable else formats.MISSING,
        formats.count(table.partitions),
        formats.size(table.bytes),
        formats.count(table.operator_rows),
        formats.count(table.reading.rows if table.reading else None),
    )
