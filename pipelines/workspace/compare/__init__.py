"""Comparisons: the outputs of two jobs, as a reader of their files or tables sees them, up to the event time both have reached."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from pipelines.catalog import batches as batch_rows
from pipelines.catalog import outputs
from pipelines.catalog import runs as run_rows
from pipelines.catalog.output_files import Options
from pipelines.checkpoint import sink_log
from pipelines.domain.errors import Conflict, NotFound, Unsupported
from pipelines.domain.experiments import Comparison
from pipelines.domain.iceberg import ICEBERG
from pipelines.domain.ids import JobName, RunId, SavepointId
from pipelines.domain.jobs import QuerySeen, Run
from pipelines.savepoint import delta_tables, iceberg_tables
from pipelines.savepoint.sink_places import delta_folder
from pipelines.storage.addresses import open_storage
from pipelines.verbs.experiments import Compare
from pipelines.words import offsets
from pipelines.workspace import runs, savepoints
from pipelines.workspace.compare import batches as compare_batches
from pipelines.workspace.compare import varying
from pipelines.workspace.context import Context
from pipelines.workspace.doers import answers

LAST_BATCHES = 50
"""How many batches are looked at for the last one that said its watermark."""


@dataclass(frozen=True)
class Side:
    """One job's output of the compared query. `until_ms` is the watermark up to which it is complete; None without event time."""

    path: str
    files: tuple[str, ...]
    format: str
    until_ms: int | None
    late_rows: int
    """Rows that were dropped because they came too late, since its present checkpoint began."""
    options: Options = None
    """Of its sink."""
    is_foldered: bool = True
    """Whether columns of it stand in its folders' names alone."""


@answers(Compare)
def compare(context: Context, question: Compare) -> Comparison:
    """Raises NotFound (`compare.query`), Conflict (`compare.not_started`), Unsupported (`compare.sink`), and what `outputs` raises."""
    a, b = runs.known(context, question.a), runs.known(context, question.b)
    queries_a, queries_b = queries(context, a), queries(context, b)
    query = _chosen(queries_a, queries_b, question, a, b)
    side_a, side_b = _side(context, a, queries_a[query]), _side(context, b, queries_b[query])
    if side_a.format != side_b.format:
        raise Unsupported("compare.formats", f"A writes {side_a.format}, B writes {side_b.format}", "Compare outputs of one format.")
    together = compare_batches.together(context, a, b)
    common = compare_batches.common(side_a.path, side_b.path) if together else None
    if common is not None:
        return _in_lock_step(context, question, (a, b), query, (side_a, side_b), common)
    reached = [side.until_ms for side in (side_a, side_b) if side.until_ms is not None]
    comparison = outputs.compare(
        side_a.files,
        side_b.files,
        format=side_a.format,
        keys=question.keys,
        examples=question.examples,
        until_ms=min(reached) if reached else None,
        options=(side_a.options, side_b.options),
        foldered=(side_a.is_foldered, side_b.is_foldered),
    )
    notes = (comparison.note, late_rows_note(comparison, side_a.late_rows, side_b.late_rows), *_moved(context, (a, b)))
    noted = " ".join(filter(None, notes))
    varies = varying.of_jobs(context, a, b, query=query) if together else ()
    return replace(comparison, a=a, b=b, query=query, note=noted, uncut=together and bool(side_a.files and side_b.files), varies=varies)


def _moved(context: Context, jobs: tuple[JobName, JobName]) -> Iterator[str]:
    """Says which job has read other input than its parent."""
    for job in jobs:
        known = context.files.job(job)
        for source in known.origin.moved if known and known.origin else ():
            yield f"{job} has read other input than its parent: {offsets.moved(source)}."


def _in_lock_step(
    context: Context, question: Compare, jobs: tuple[JobName, JobName], query: str, sides: tuple[Side, Side], until: int
) -> Comparison:
    """All rows of the batches that both have, whatever the watermark, and the first batch whose rows part."""
    (a, b), (side_a, side_b) = jobs, sides
    files_a, files_b = (compare_batches.files_until(side.path, until) for side in sides)
    sinks = compare_batches.Sinks((side_a.path, side_b.path), side_a.format, (side_a.options, side_b.options))
    comparison = outputs.compare(
        files_a, files_b, format=sinks.format, keys=question.keys, examples=question.examples, options=sinks.options
    )
    began = compare_batches.began(context, a, b, query)
    stepped = compare_batches.stepped(sinks, question.keys, began, until, question.examples)
    return replace(comparison, a=a, b=b, query=query, lock_step=stepped, varies=varying.of_jobs(context, a, b, query=query))


def late_rows_note(comparison: Comparison, late_a: int, late_b: int) -> str:
    """Says that late rows can be why the outputs differ: where they do, and one side dropped some. Empty otherwise."""
    same = comparison.changed == comparison.only_a == comparison.only_b == 0
    if same or not (late_a or late_b):
        return ""
    return (
        f"Late rows can be the cause: A dropped {late_a:,}, B dropped {late_b:,}. Which rows come too late depends on how the events "
        "were cut into batches, so two jobs of which one lags more may drop different ones."
    )


def queries(context: Context, job: JobName) -> dict[str, QuerySeen]:
    """The queries of the newest run that had any."""
    with context.catalog.reading() as reader:
        for run in run_rows.of_job(reader, job):
            queries = run_rows.queries(reader, run.id)
            if queries:
                return {query.query: query for query in queries}
    raise Conflict("compare.not_started", f"No query of job {job} has started yet", "Wait for its first batch, then compare.")


def _chosen(in_a: dict[str, QuerySeen], in_b: dict[str, QuerySeen], question: Compare, a: JobName, b: JobName) -> str:
    """The query asked for, else the first that both write to files; Unsupported (`compare.sink`) where it is none of files."""
    both = [name for name in in_a if name in in_b]
    files = [name for name in both if _has_files(in_a[name]) and _has_files(in_b[name])]
    chosen = question.query or next(iter(files or both), "")
    if chosen not in both:
        subject = f"query {question.query}" if question.query else "query of the same name"
        raise NotFound("compare.query", f"{a} and {b} have no {subject}", f"{a} has {', '.join(in_a)}; {b} has {', '.join(in_b)}.")
    if chosen not in files:
        raise Unsupported(
            "compare.sink",
            f"Query {chosen} writes to {in_a[chosen].sink} and {in_b[chosen].sink}: only outputs in files can be compared",
            "Write to parquet, json or csv, or to a Delta or Iceberg table in a folder of this machine.",
        )
    return chosen


def _has_files(query: QuerySeen) -> bool:
    if query.sink.lower() == ICEBERG:
        return bool(iceberg_tables.folder(query.sink, query.sink_path))
    return bool(query.sink_path or delta_folder(query.sink, query.sink_path, query.sink_table))


def _side(context: Context, job: JobName, query: QuerySeen) -> Side:
    """Reads one side, its watermark first: rows that the log gains afterwards are later."""
    until_ms = _watermark_ms(context, job, query.query)
    late_rows = _late_rows(context, job, query.query)
    if home := iceberg_tables.folder(query.sink, query.sink_path):
        return Side(home, iceberg_tables.files(home, query.sink_table), "parquet", until_ms, late_rows, is_foldered=False)
    if folder := delta_folder(query.sink, query.sink_path, query.sink_table):
        return Side(folder, delta_tables.files(folder), "parquet", until_ms, late_rows)
    storage = open_storage(query.sink_path)
    log = sink_log.whole(storage, sink_log.FOLDER)
    files = tuple(file.path for file in sink_log.live_files(log, sys.maxsize))
    return Side(query.sink_path, files, query.sink, until_ms, late_rows, query.sink_options)


def _late_rows(context: Context, job: JobName, query: str) -> int:
    begun = _begun_by(context, job)
    with context.catalog.reading() as reader:
        return batch_rows.late_rows(reader, job, query, begun.created_ms if begun and begun.from_savepoint else 0)


def _watermark_ms(context: Context, job: JobName, query: str) -> int | None:
    """The watermark of the job's last batch; of the savepoint it began from, before its first one; None without event time."""
    begun = _begun_by(context, job)
    origin = begun.from_savepoint if begun else None
    since_ms = begun.created_ms if begun and origin else 0
    with context.catalog.reading() as reader:
        batches = batch_rows.newest(reader, job, limit=LAST_BATCHES, query=query)
    watermarks = [row.watermark_ms for row in batches if row.at_ms >= since_ms]
    marked = next((watermark for watermark in watermarks if watermark is not None), None)
    return marked if marked is not None or watermarks or origin is None else _taken_at(context, origin, query)


def _begun_by(context: Context, job: JobName) -> Run | None:
    """The run that began the job's present checkpoint; batches of older checkpoints may have been taken back."""
    newest = runs.newest(context, job)
    return runs.find(context, RunId(PurePath(newest.checkpoints).name)) if newest else None


def _taken_at(context: Context, savepoint: SavepointId, query: str) -> int | None:
    """The watermark of a savepoint, None where it has none or was disposed of."""
    try:
        images = savepoints.get(context, savepoint).queries
    except NotFound:
        return None
    return next((image.watermark_ms for image in images if image.query == query and image.watermark_ms), None)
