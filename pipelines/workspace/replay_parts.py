"""What a replay is compared by: the rows that both wrote in the batches between two savepoints, and their state after the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.catalog import outputs
from pipelines.catalog.output_files import FORMATS
from pipelines.catalog.outputs import OutputComparison
from pipelines.domain.errors import Invalid
from pipelines.domain.experiments import LockStepped
from pipelines.domain.ids import JobName
from pipelines.domain.replays import Kind, Outcome, ReplayedPart
from pipelines.domain.savepoints import Manifest, QueryImage, Reason
from pipelines.domain.states import StateTable
from pipelines.savepoint import states as tables
from pipelines.savepoint import written
from pipelines.savepoint.sinks import FILE_SINKS
from pipelines.verbs.take import Take
from pipelines.workspace import compare, compare_batches, readings, savepoints, states
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket

EXAMPLES = 20
NOWHERE = frozenset({"memory", "console", "noop"})
"""Sinks that leave nothing behind."""
KEY = ("key",)
"""The column that names a row of state, where the table has one."""


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
    return (*able, *(f"state of {table.title}" for table in _tables(context, span.end, span))), tuple(unable)


def compared(context: Context, span: Span, fork: JobName, ticket: Ticket) -> Iterator[ReplayedPart]:
    """Each part, the fork having ended with the span's last batches. Takes a savepoint of the fork where there is state to compare."""
    for before, after in span.moved():
        ticket.step(f"comparing the output of {after.query}")
        if after.sink.lower() in FORMATS:
            yield _output(context, span, fork, before, after)
        else:
            yield ReplayedPart(Kind.OUTPUT, after.query, after.sink, Outcome.NOT_COMPARED, note=_why_not(after))
    if not (own := _tables(context, span.end, span)):
        return
    taken = savepoints.taken(context, fork, Take(fork, label="the end of the replay"), Reason.MANUAL, ticket)
    other = savepoints.manifest(context, taken.id)
    others = {(table.query, table.operator, table.store, table.variable): table for table in _tables(context, other, span)}
    for table in own:
        yield _state(context, span, table, others.pop((table.query, table.operator, table.store, table.variable), None), other, ticket)
    for table in others.values():
        yield ReplayedPart(Kind.STATE, table.query, table.title, Outcome.DIFFERENT, note="Only the replay has this state.")


def _why_not(image: QueryImage) -> str:
    if image.sink.lower() in NOWHERE:
        return f"the sink {image.sink} keeps no rows to compare"
    return f"rows in {image.sink} cannot be compared: only files in {', '.join(FORMATS)} can"


def _output(context: Context, span: Span, fork: JobName, before: QueryImage, after: QueryImage) -> ReplayedPart:
    seen = compare.queries(context, fork).get(after.query)
    if seen is None or seen.sink.lower() != after.sink.lower() or not seen.sink_path:
        note = f"The replay has no such output: it writes to {seen.sink}." if seen else "The replay has no such query."
        return ReplayedPart(Kind.OUTPUT, after.query, after.sink, Outcome.DIFFERENT, note=note)
    output = str(context.layout.output(span.job))
    past = set(written.files(context.shelf(span.start.id), span.start, before, output))
    own = [file for file in written.files(context.shelf(span.end.id), span.end, after, output) if file not in past]
    other = compare_batches.files_until(seen.sink_path, after.batch)
    comparison = outputs.compare(own, other, format=after.sink.lower(), examples=EXAMPLES)
    stepped = _stepped(context, span, seen.sink_path, before, after)
    return _part(Kind.OUTPUT, after, after.sink, comparison, stepped)


def _stepped(context: Context, span: Span, path: str, before: QueryImage, after: QueryImage) -> LockStepped | None:
    """Batch by batch, where the job's own log still tells them apart."""
    own = compare.queries(context, span.job).get(after.query)
    if own is None or not own.sink_path:
        return None
    stepped = compare_batches.stepped(own.sink_path, path, after.sink.lower(), (), before.batch, after.batch)
    return stepped if stepped.since <= after.batch else None


def _state(context: Context, span: Span, table: StateTable, twin: StateTable | None, other: Manifest, ticket: Ticket) -> ReplayedPart:
    if twin is None:
        return ReplayedPart(Kind.STATE, table.query, table.title, Outcome.DIFFERENT, note="The replay has no such state.")
    a, b = states.whole(context, span.end, table, ticket), states.whole(context, other, twin, ticket)
    ticket.step(f"comparing the state {table.title}")
    comparison = _by_key(readings.files(context, a), readings.files(context, b))
    image = next(image for image in span.end.queries if image.query == table.query)
    return _part(Kind.STATE, image, table.title, comparison, None)


def _by_key(a: Sequence[str], b: Sequence[str]) -> OutputComparison:
    """By key where the table has one: the state of an aggregation over everything has none."""
    try:
        return outputs.compare(a, b, keys=KEY, examples=EXAMPLES)
    except Invalid as error:
        if error.code != "compare.keys":
            raise
        return outputs.compare(a, b, examples=EXAMPLES)


def _part(kind: Kind, image: QueryImage, name: str, comparison: OutputComparison, stepped: LockStepped | None) -> ReplayedPart:
    different = comparison.differs or bool(comparison.columns_apart)
    return ReplayedPart(
        kind,
        image.query,
        name,
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
        {kind_of: tuple(rows) for kind_of, rows in comparison.examples.items()},
        comparison.note,
    )


def _tables(context: Context, manifest: Manifest, span: Span) -> list[StateTable]:
    """Tables of state of the queries that read anything, without Spark's own layout."""
    moved = {after.query for _, after in span.moved()}
    return [table for table in tables.tables(context.shelf(manifest.id), manifest) if table.query in moved and not table.internal]
