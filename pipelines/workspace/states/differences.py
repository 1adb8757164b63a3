"""Differences of state: both points are read where they were not, compared in DuckDB, and kept."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from pipelines.catalog import state_difference_worker, state_worker
from pipelines.domain import state_differences as pairing
from pipelines.domain import states
from pipelines.domain.errors import NotFound, Unsupported
from pipelines.domain.ids import content_id
from pipelines.domain.state_differences import NotCompared, Pair, StateDifference, StateExamples, TableDifference
from pipelines.domain.states import StateRows
from pipelines.savepoint import states as tables
from pipelines.savepoint.states import SIDES
from pipelines.verbs.state_difference import CompareState, QueryStateDifference, ShowStateDifference, StateDifferencePlan
from pipelines.workspace import kept_differences, readings
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans
from pipelines.workspace.states import points as state_points
from pipelines.workspace.states import whole
from pipelines.workspace.states.points import Held, StatePoint
from pipelines.workspace.tickets import Ticket


@plans(CompareState)
def plan(context: Context, change: CompareState) -> Planned[str, StateDifferencePlan]:
    """Plans to compare two points; raises what finding them raises (a job's batch that Spark keeps no more)."""
    a, b = state_points.find(context, change.a), state_points.find(context, change.b)
    for point in (a, b):
        if point.savepoint is None:
            state_points.planned(context, point)
    shown = StateDifferencePlan(change.a, change.b, b.job, a.savepoint, b.savepoint)
    return Planned(shown, lambda ticket: _compare(context, a, b, change, ticket).id)


@answers(ShowStateDifference)
def show(context: Context, question: ShowStateDifference) -> StateDifference:
    """Raises NotFound (`state.no_difference`)."""
    kept = kept_differences.find(context, question.difference)
    if kept is None:
        raise NotFound("state.no_difference", f"There is no difference of state {question.difference!r}", "Compare the points again.")
    return kept


@answers(QueryStateDifference)
def query(context: Context, question: QueryStateDifference) -> StateRows:
    """Raises what `catalog.state_worker.query` raises, and NotFound where the difference or a reading that it is made of is gone."""
    difference = show(context, ShowStateDifference(question.difference))
    table = pairing.chosen(difference.tables, question)
    folder = context.layout.state_difference(difference.id)
    views = {"difference": [str(kept_differences.rows_file(folder, difference.tables.index(table)))]}
    for view, at, reading in (("a", difference.a, table.reading_a), ("b", difference.b, table.reading_b)):
        kept = readings.find(context, at.savepoint, reading)
        views |= {view: list(readings.files(context, kept))} if kept is not None else {}
    return state_worker.query(context.state_workers, views, question)


def _compare(context: Context, a: StatePoint, b: StatePoint, change: CompareState, ticket: Ticket) -> StateDifference:
    """1. the points hold still; 2. each table of both is read, where it was not; 3. the readings are compared; 4. the difference is kept.
    Nothing else is left."""
    began, folder = time.monotonic(), context.layout.sandbox_folder(ticket.operation)
    built = folder / "difference"
    built.mkdir(parents=True)
    try:
        held_a, held_b = (state_points.held(context, point, folder / side, ticket) for side, point in (("a", a), ("b", b)))  # 1
        pairs, apart = _pairs(held_a, held_b, change)
        tables_compared = list[TableDifference]()
        for pair in pairs:
            try:
                rows_file = kept_differences.rows_file(built, len(tables_compared))
                tables_compared.append(compared(context, pair, (held_a, held_b), folder, rows_file, ticket)[0])  # 2, 3
            except Unsupported as error:
                apart = (*apart, NotCompared(pair.a.title, error.message))
        titles = [table.title for table in tables_compared]
        difference = StateDifference(
            id=content_id(kept_differences.PREFIX, {"a": held_a.key, "b": held_b.key, "tables": titles}),
            a=held_a.at(change.a),
            b=held_b.at(change.b),
            tables=tuple(tables_compared),
            apart=apart,
            bytes=readings.size(built),
            made_ms=context.now_ms(),
            took_ms=(time.monotonic() - began) * 1000,
        )
        kept_differences.publish(context, difference, built)  # 4
        return difference
    finally:
        shutil.rmtree(folder)


def _pairs(a: Held, b: Held, change: CompareState) -> tuple[tuple[Pair, ...], tuple[NotCompared, ...]]:
    """The tables to compare. NotFound (`state.none`, `state.not_found`) where there is none of that name at either point."""
    every = [tables.tables(held.shelf, held.manifest) for held in (a, b)]
    chosen = [pairing.named(listed, change) for listed in every]
    pairs, apart = pairing.paired(*chosen)
    if not pairs and not apart:
        states.chosen(every[0], change)
    return pairs, apart


def compared(
    context: Context, pair: Pair, held: tuple[Held, Held], folder: Path, rows_file: Path, ticket: Ticket, limit: int = 0
) -> tuple[TableDifference, StateExamples]:
    """Reads a table of both points, in the scratch `folder`, where it was not read before, and compares it; the rows that differ go into
    `rows_file`, `limit` of each kind into the examples. Raises Unsupported (`state.keys_differ`)."""
    scratch = folder / "reading"
    left = whole(context, held[0], pair.a, scratch, ticket)
    right = whole(context, held[1], pair.b, scratch, ticket)
    several = pair.a.store in SIDES or pair.a.kind == "list" or pair.a.is_timers
    files = [list(readings.files(context, reading)) for reading in (left, right)]
    pool = context.state_difference_workers
    fields, examples = state_difference_worker.compare(pool, files[0], files[1], several, str(rows_file), ticket, limit)
    table = TableDifference(
        query=pair.a.query,
        operator=pair.a.operator,
        name=pair.a.name,
        store=pair.a.store,
        variable=pair.a.variable,
        reading_a=left.id,
        reading_b=right.id,
        **fields,
    )
    return table, examples
