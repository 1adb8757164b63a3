"""What a replay is compared by: the rows that both wrote in the batches between two savepoints, and their state after the last."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.catalog import outputs
from pipelines.catalog.output_files import FORMATS
from pipelines.domain import state_differences
from pipelines.domain.errors import Unsupported
from pipelines.domain.experiments import Comparison, LockStepped
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import QuerySeen
from pipelines.domain.replays import Kind, Outcome, ReplayedPart
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.domain.sinks import FILE_SINKS
from pipelines.domain.state_differences import Pair
from pipelines.domain.states import CLOCK_TIMERS, StateTable
from pipelines.savepoint import states as tables
from pipelines.savepoint import written
from pipelines.storage.protocol import Storage
from pipelines.verbs.take import Take
from pipelines.workspace import compare, job_places
from pipelines.workspace.compare import batches
from pipelines.workspace.context import Context
from pipelines.workspace.states import differences as differing
from pipelines.workspace.states import points as state_points
from pipelines.workspace.states.points import Held
from pipelines.workspace.tickets import Ticket

EXAMPLES = 20
NOWHERE = frozenset({"memory", "console", "noop"})
"""Sinks that leave nothing behind."""


@dataclass(frozen=True)
class Span:
    """What a job read between two savepoints: the queries that read anything, as they were then and in the end."""

    start: Manifest
    end: Manifest

    @property
    def job(self) -> JobName:
        return self.end.job

    def moved(self) -> Iterator[tuple[QueryImage, QueryImage]]:
        for after in self.end.begun:
            before = next((image for image in self.start.queries if image.query == after.query), None)
            if before is not None and before.batch < after.batch:
                yield before, after


def outside(span: Span) -> list[QueryImage]:
    """The queries whose code, or whose sink, writes to a place that nobody else keeps apart."""
    return [after for _, after in span.moved() if after.sink.lower() not in NOWHERE | FILE_SINKS]


def comparable(context: Context, span: Span) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """In words: what can be compared, and what cannot."""
    moved = [after for _, after in span.moved()]
    able = [f"output of {image.query} ({image.sink})" for image in moved if image.sink.lower() in FORMATS]
    unable = [f"output of {image.query}: {_why_not(image)}" for image in moved if image.sink.lower() not in FORMATS]
    return (*able, *(f"state of {table.title}" for table in _tables(context.shelf(span.end.id), span.end, span))), tuple(unable)


def compared(context: Context, span: Span, fork: JobName, ticket: Ticket) -> Iterator[ReplayedPart]:
    """Each part, the fork having ended with the span's last batches."""
    for before, after in span.moved():
        ticket.step(f"comparing the output of {after.query}")
        if after.sink.lower() in FORMATS:
            yield _output(context, span, fork, before, after)
        else:
            yield ReplayedPart(Kind.OUTPUT, after.query, after.sink, Outcome.NOT_COMPARED, note=_why_not(after))
    if _tables(context.shelf(span.end.id), span.end, span):
        folder = context.layout.sandbox_folder(ticket.operation)
        folder.mkdir(parents=True)
        try:
            yield from _states(context, span, fork, folder, ticket)
        finally:
            shutil.rmtree(folder)


def _states(context: Context, span: Span, fork: JobName, folder: Path, ticket: Ticket) -> Iterator[ReplayedPart]:
    """Each table of state, read as a savepoint of the fork has it that is taken into the scratch `folder` and that no list shows."""
    own = Held(context.shelf(span.end.id), span.end, span.end.id)
    other = state_points.taken(context, Take(fork), folder / "replay", ticket)
    own_tables, other_tables = (_tables(held.shelf, held.manifest, span) for held in (own, other))
    pairs, apart = state_differences.paired(own_tables, other_tables)
    queries = {table.title: table.query for table in (*own_tables, *other_tables)}
    for pair in pairs:
        ticket.step(f"comparing the state {pair.a.title}")
        yield _state(context, pair, (own, other), folder, ticket)
    for table in apart:
        yield ReplayedPart(Kind.STATE, queries[table.title], table.title, Outcome.DIFFERENT, note=_sentence(table.reason))


def _why_not(image: QueryImage) -> str:
    if image.sink.lower() in NOWHERE:
        return f"the sink {image.sink} keeps no rows to compare"
    return f"rows in {image.sink} cannot be compared: only files in {', '.join(FORMATS)} can"


def _output(context: Context, span: Span, fork: JobName, before: QueryImage, after: QueryImage) -> ReplayedPart:
    seen = compare.queries(context, fork).get(after.query)
    if seen is None or seen.sink.lower() != after.sink.lower() or not seen.sink_path:
        note = f"The replay has no such output: it writes to {seen.sink}." if seen else "The replay has no such query."
        return ReplayedPart(Kind.OUTPUT, after.query, after.sink, Outcome.DIFFERENT, note=note)
    output = job_places.output_of(context, span.job)
    past = set(written.files(context.shelf(span.start.id), span.start, before, output))
    own = [file for file in written.files(context.shelf(span.end.id), span.end, after, output) if file not in past]
    other = batches.files_until(seen.sink_path, after.batch)
    there = compare.queries(context, span.job).get(after.query)
    options = (there.sink_options if there else None, seen.sink_options)
    comparison = outputs.compare(own, other, format=after.sink.lower(), examples=EXAMPLES, options=options)
    stepped = _stepped(there, seen, before, after)
    return _part(after, comparison, stepped)


def _stepped(own: QuerySeen | None, other: QuerySeen, before: QueryImage, after: QueryImage) -> LockStepped | None:
    """Batch by batch, where the job's own log still tells them apart."""
    if own is None or not own.sink_path:
        return None
    sinks = batches.Sinks((own.sink_path, other.sink_path), after.sink.lower(), (own.sink_options, other.sink_options))
    stepped = batches.stepped(sinks, (), before.batch, after.batch, EXAMPLES)
    return stepped if stepped.since <= after.batch else None


def _state(context: Context, pair: Pair, held: tuple[Held, Held], folder: Path, ticket: Ticket) -> ReplayedPart:
    """By key, as a difference of state compares it."""
    try:
        table, shown = differing.compared(context, pair, held, folder, folder / "rows.parquet", ticket, EXAMPLES)
    except Unsupported as error:
        return ReplayedPart(Kind.STATE, pair.a.query, pair.a.title, Outcome.DIFFERENT, note=_sentence(error.message))
    is_equal = not (table.changes.total or shown.apart)
    return ReplayedPart(
        Kind.STATE,
        pair.a.query,
        pair.a.title,
        Outcome.EQUAL if is_equal else Outcome.DIFFERENT,
        shown.columns,
        shown.keys,
        table.keys_a,
        table.keys_b,
        table.same,
        table.changes.removed,
        table.changes.added,
        table.changes.changed,
        examples=shown.rows,
        note=_sentence("; ".join(table.notes)) or _other_types(shown.apart),
    )


def _other_types(columns: Sequence[str]) -> str:
    return f"Of other type: {', '.join(columns)}." if columns else ""


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _part(image: QueryImage, comparison: Comparison, stepped: LockStepped | None) -> ReplayedPart:
    different = comparison.differs or bool(comparison.columns_apart)
    return ReplayedPart(
        Kind.OUTPUT,
        image.query,
        image.sink,
        Outcome.DIFFERENT if different else Outcome.EQUAL,
        comparison.columns,
        comparison.keys,
        comparison.rows_a,
        comparison.rows_b,
        comparison.equal,
        comparison.only_a,
        comparison.only_b,
        comparison.changed,
        stepped.since if stepped else None,
        stepped.first if stepped else None,
        {kind: tuple(rows) for kind, rows in comparison.examples.items()},
        comparison.note,
        stepped.keys if stepped else (),
        {kind: tuple(rows) for kind, rows in stepped.examples.items()} if stepped else {},
    )


def _tables(shelf: Storage, manifest: Manifest, span: Span) -> list[StateTable]:
    """Tables of state of the queries that read anything, without Spark's own layout, and without timers that go by the clock, of which
    those of a replay are others by themselves."""
    moved = {after.query for _, after in span.moved()}
    own = (table for table in tables.tables(shelf, manifest) if table.query in moved)
    return [table for table in own if not table.internal and table.kind != CLOCK_TIMERS]
