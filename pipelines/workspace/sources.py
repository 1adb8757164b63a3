"""The source of a job's savepoints: the run whose checkpoints are read, and its queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipelines.catalog import operators as operator_rows
from pipelines.domain.errors import Conflict, Corrupt
from pipelines.domain.ids import JobName, RunId, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.runs import QUERIES_FILE, QueryStarted
from pipelines.savepoint.sink_places import inside, plain
from pipelines.savepoint.source import JobSource, job_source
from pipelines.workspace import json_lines, runs, versions
from pipelines.workspace.context import Context


def of_job(context: Context, job: JobName) -> JobSource:
    """The job's newest checkpoint; raises Conflict (`savepoint.no_query`) where no query of it ever came up."""
    ran = _on_newest_checkpoint(context, job)
    for run in ran:
        started = [_here(context, job, query) for query in started_queries(context, job, run.id)]
        if started:
            source = job_source(job, run.id, versions.get(context, run.version), started)
            return _told(
                context, replace(source, installed=context.files.installed(job, run.id), outside=str(context.layout.large_files)), ran
            )
    raise Conflict(
        "savepoint.no_query",
        f"No streaming query of job {job} has started on its present checkpoint",
        "Wait until the job runs; a script without queries has no state to save.",
    )


def _told(context: Context, source: JobSource, ran: Sequence[Run]) -> JobSource:
    """With the stateful operators that Spark told of: state that is gone as a whole leaves no trace in a checkpoint of format 1."""
    with context.catalog.reading() as reader:
        told = operator_rows.most(reader, [run.id for run in ran])
    known = (replace(place, operators=max(place.operators, told.get(place.query, 0))) for place in source.queries)
    return replace(source, queries=tuple(known))


def here(context: Context, job: JobName, path: str) -> str:
    """`path` of the job's folder, written when the workspace was elsewhere, where it is now; any other path as it is."""
    folder = context.layout.job(job)
    _, marker, below = plain(path).rpartition(f"/jobs/{job}/")
    moved = folder / below
    return str(moved) if marker and not inside(path, str(folder)) and moved.exists() else path


def table_of_a_run(context: Context, job: JobName) -> bool:
    """Whether a query wrote to a table of files in its run's own folder, as in a job without a warehouse: the next run finds none."""
    runs_folder = str(context.layout.runs(job))
    for run in _on_newest_checkpoint(context, job):
        started = [_here(context, job, query) for query in started_queries(context, job, run.id)]
        if started:
            return any(query.sink_table and inside(query.sink_path, runs_folder) for query in started)
    return False


def started_before(context: Context, job: JobName) -> list[QueryStarted]:
    """The queries that came up on the job's newest checkpoint, oldest first."""
    ran = _on_newest_checkpoint(context, job)
    return [query for run in reversed(ran) for query in started_queries(context, job, run.id)]


def restored_from(context: Context, job: JobName) -> SavepointId | None:
    """The savepoint that the job's newest checkpoint was made from; None where it began by itself."""
    return next((run.from_savepoint for run in _on_newest_checkpoint(context, job) if run.from_savepoint), None)


def _here(context: Context, job: JobName, query: QueryStarted) -> QueryStarted:
    return replace(query, checkpoint=here(context, job, query.checkpoint), sink_path=here(context, job, query.sink_path))


def _on_newest_checkpoint(context: Context, job: JobName) -> list[Run]:
    """The newest run, then older runs on the same checkpoint: the newest may have failed before its queries started."""
    ran = runs.of_job(context, job)
    return [run for run in ran if run.checkpoints == ran[0].checkpoints]


def started_queries(context: Context, job: JobName, run: RunId) -> Iterator[QueryStarted]:
    """The whole lines of the run's `queries.jsonl`; raises Corrupt (`run.queries`) for one that is none of the driver's."""
    path = context.layout.run(job, run) / QUERIES_FILE
    if not path.is_file():
        return
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            yield json_lines.query(line)
        except Corrupt as error:
            raise Corrupt("run.queries", f"{path} has a line that no driver wrote: {line[:80]!r}", "Remove that line.") from error
