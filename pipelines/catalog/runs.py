"""Runs, and the queries that started in them, in the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.sql import NEWEST_FIRST
from pipelines.catalog.tables import TEXT, WHOLE, Row, document, first, read, replace
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import QuerySeen, Run
from pipelines.domain.runs import RunState

_COLUMNS = {
    "id": TEXT,
    "job": TEXT,
    "version": TEXT,
    "state": TEXT,
    "created_ms": WHOLE,
    "started_ms": WHOLE,
    "ended_ms": WHOLE,
    "document": TEXT,
}
_QUERY_COLUMNS = {"run": TEXT, "job": TEXT, "query": TEXT, "document": TEXT}
_LIVE = [state.value for state in RunState if state.live]
_MEASURED = ("queries", "progress", "latest_progress", "sizes", "latest_size", "latest_idle")


def save(writer: Writer, runs: Sequence[Run]) -> None:
    """Add `runs`, or replace those of the same id."""
    replace(writer, "runs", _COLUMNS, ["id"], [_row(run) for run in runs])


def save_queries(writer: Writer, queries: Sequence[tuple[JobName, RunId, QuerySeen]]) -> None:
    """Add the queries of runs, or replace those of the same run and name."""
    rows = [(run, job, seen.query, document(seen)) for job, run, seen in queries]
    replace(writer, "queries", _QUERY_COLUMNS, ["run", "query"], rows)


def forget(writer: Writer, run: RunId) -> None:
    """Remove a run with all that was measured of it."""
    writer.execute("DELETE FROM runs WHERE id = ?", [run])
    for table in _MEASURED:
        writer.execute(f"DELETE FROM {table} WHERE run = ?", [run])


def of_job(reader: Reader, job: str) -> list[Run]:
    """A job's runs, newest first."""
    return read(Run, reader.execute(f"SELECT document FROM runs WHERE job = ? {NEWEST_FIRST}", [job]).fetchall(), "run")


def live(reader: Reader) -> list[Run]:
    """Runs that have a process or are about to, of all jobs, newest first."""
    return read(Run, reader.execute(f"SELECT document FROM runs WHERE state IN ? {NEWEST_FIRST}", [_LIVE]).fetchall(), "run")


def restarting(reader: Reader) -> set[JobName]:
    """Jobs whose newest run failed and is followed by another."""
    some = "SELECT job FROM runs WHERE state = ?"
    sql = f"SELECT job, state FROM runs WHERE job IN ({some}) QUALIFY row_number() OVER (PARTITION BY job {NEWEST_FIRST}) = 1"
    rows = reader.execute(sql, [RunState.RESTARTING.value]).fetchall()
    return {JobName(job) for job, state in rows if state == RunState.RESTARTING}


def listed(reader: Reader) -> list[Run]:
    """All runs of all jobs, newest first."""
    return read(Run, reader.execute(f"SELECT document FROM runs {NEWEST_FIRST}").fetchall(), "run")


def newest(reader: Reader, job: str) -> Run | None:
    """A job's newest run, None if it never ran."""
    return first(Run, reader, f"SELECT document FROM runs WHERE job = ? {NEWEST_FIRST} LIMIT 1", [job], "run")


def find(reader: Reader, run: str) -> Run | None:
    """The run of that id, None if there is none."""
    return first(Run, reader, "SELECT document FROM runs WHERE id = ?", [run], "run")


def get(reader: Reader, run_id: str) -> Run:
    """The run of that id; NotFound (`run.not_found`) if there is none."""
    run = find(reader, run_id)
    if run is None:
        raise NotFound("run.not_found", f"There is no run {run_id!r}", "See a job's runs with `show`.")
    return run


def queries(reader: Reader, run: str) -> list[QuerySeen]:
    """The queries that started in a run, by name."""
    return read(QuerySeen, reader.execute("SELECT document FROM queries WHERE run = ? ORDER BY query", [run]).fetchall(), "query")


def of_query(reader: Reader, query_id: str) -> list[tuple[JobName, RunId]]:
    """The runs in which a query came up, by Spark's id, newest first, each with its job."""
    ids = "SELECT run FROM queries WHERE document->>'query_id' = ?"
    rows = reader.execute(f"SELECT job, id FROM runs WHERE id IN ({ids}) {NEWEST_FIRST}", [query_id]).fetchall()
    return [(JobName(job), RunId(run)) for job, run in rows]


def _row(run: Run) -> Row:
    return (run.id, run.job, run.version, run.state.value, run.created_ms, run.started_ms, run.ended_ms, document(run))


def sink_paths(reader: Reader, except_job: str) -> list[str]:
    """Output directories that the file sinks of all other jobs have written to."""
    rows = reader.execute("SELECT document FROM queries WHERE job <> ?", [except_job]).fetchall()
    return sorted({seen.sink_path for seen in read(QuerySeen, rows, "query") if seen.sink_path})


def checkpoints(reader: Reader) -> list[tuple[JobName, str]]:
    """Every query's checkpoint, with the job it is of."""
    rows = reader.execute("SELECT job, document FROM queries").fetchall()
    queries = read(QuerySeen, [(document,) for _, document in rows], "query")
    return [(JobName(job), query.checkpoint) for (job, _), query in zip(rows, queries, strict=True)]
