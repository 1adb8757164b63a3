"""Differences of state on the command line: two points are compared, or a kept difference is shown and queried."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipelines.cli import output
from pipelines.cli.additions import command
from pipelines.cli.follow import done
from pipelines.cli.nouns.states import rows_table
from pipelines.cli.perform import perform
from pipelines.cli.session import Here
from pipelines.cli.words import DryRun, savepoint_name
from pipelines.domain.state_differences import StateDifference, TableDifference
from pipelines.domain.states import StateRows
from pipelines.verbs.state_difference import POINT, CompareState, QueryStateDifference, ShowStateDifference
from pipelines.words import formats
from pipelines.words import state_differences as words


@command("state-difference", "states")
def state_difference(
    here: Here,
    a: Annotated[str, typer.Argument(metavar="A", help=f"{POINT} Alone the id of a difference.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="[B]", help="Another point.", show_default=False)] = "",
    query: Annotated[str, typer.Option("--query", help="The streaming query.")] = "",
    operator: Annotated[int | None, typer.Option("--operator", help="Id of the stateful operator.")] = None,
    store: Annotated[str, typer.Option("--store", help="The state store; of a join also left or right.")] = "",
    variable: Annotated[str, typer.Option("--variable", help="The state variable of a transformWithState.")] = "",
    sql: Annotated[str, typer.Option("--sql", help="One SELECT over the views difference, a and b.")] = "",
    filter: Annotated[str, typer.Option("--filter", help="Only rows that hold this text.")] = "",
    sort: Annotated[str, typer.Option("--sort", help="Order by this column (key.NAME), '-' before it for the greatest first.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many keys to print.")] = 10,
    dry_run: DryRun = False,
) -> None:
    """Compare the state of two points key by key: keys added, removed and changed, how far each column drifted, and examples with both
    values. With --json the difference, or the rows that --sql, --filter or --sort ask for. Ctrl-C cancels the reading."""
    names: dict[str, Any] = {"query": query, "operator": operator, "store": store, "variable": variable}
    change = CompareState(savepoint_name(a), savepoint_name(b), **names)
    if dry_run:
        perform(here, change)
        return
    difference = here.face.ask(ShowStateDifference(done(here, change).result or "" if b else a))
    asks: dict[str, Any] = {
        "sql": sql,
        "filter": filter,
        "sort": sort.removeprefix("-"),
        "descending": sort.startswith("-"),
        "limit": limit,
    }
    if sql or filter or sort:
        _show(here, here.face.ask(QueryStateDifference(difference.id, **names, **asks)))
        return
    here.show(difference, _difference(here, difference, limit))


def _show(here: Here, answer: StateRows) -> None:
    here.show(answer, rows_table(answer) or "")


def _difference(here: Here, difference: StateDifference, limit: int) -> str:
    heads = (("A", words.point(difference.a)), ("B", words.point(difference.b)), ("id", difference.id))
    parts = [output.details(heads), *(_table(here, difference, table, limit) for table in difference.tables)]
    parts += [f"not compared: {state.title}: {state.reason}" for state in difference.apart]
    return "\n\n".join(parts)


def _table(here: Here, difference: StateDifference, table: TableDifference, limit: int) -> str:
    """Counts, drift, and examples of one table."""
    parts = [f"{table.title}: {words.changes(table.changes, table.same)}"]
    if table.columns:
        parts.append(_drift(table))
    parts += [f"not compared: {note}" for note in table.notes]
    if table.changes.total and not here.as_json:
        rows = rows_table(here.face.ask(QueryStateDifference(difference.id, **table.names, limit=limit)))
        parts.append(rows.plain().lstrip() if rows else "")
    return "\n".join(parts)


def _drift(table: TableDifference) -> str:
    titles = ("COLUMN", "CHANGED>", "MEAN A>", "MEAN B>", "LEAST A>", "LEAST B>", "GREATEST A>", "GREATEST B>", "LARGEST CHANGE>")
    rows = [
        (
            column.name,
            formats.count(column.changed),
            *(words.bound(getattr(side, name), column.kind) for name in ("mean", "least", "greatest") for side in (column.a, column.b)),
            words.largest(column),
        )
        for column in table.columns
    ]
    return output.Table(titles, rows).plain().lstrip()
