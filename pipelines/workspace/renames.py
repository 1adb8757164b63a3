"""Renames of an attached job's queries: the job is watched on by a new run, which has the old one's history under the new name.

The order: (1) the new run's files; (2) `wanted.json`, from here it is the job's run; (3) the catalog; (4) the old run's folder is deleted.
A crash before (2) leaves a run that nobody wants, one before (4) an older run of the job.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pipelines.catalog import file_positions as position_rows
from pipelines.catalog import runs as run_rows
from pipelines.domain.errors import AlreadyExists, Conflict, NotFound
from pipelines.domain.ids import QueryName, RunId, given_query_name
from pipelines.domain.jobs import Run, Wanted
from pipelines.domain.json_text import read_json
from pipelines.domain.runs import PROGRESS_FILE, QUERIES_FILE, QueryStarted, RunState
from pipelines.storage import fronts
from pipelines.storage.lines import LONGEST_BYTES
from pipelines.verbs.rename_query import RenamePlan, RenameQuery
from pipelines.workspace import events, ingestion, runs, savepoints, sources
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans


@plans(RenameQuery)
def plan(context: Context, change: RenameQuery) -> Planned[Run, RenamePlan]:
    """Raises NotFound (`query.not_found`), AlreadyExists (`query.exists`), Conflict (`rename.own`: its script names it), Invalid
    (`query.name`)."""
    name, to = runs.known(context, change.job), given_query_name(change.to)
    old, queries = _watched(context, change)
    started = next((query for query in queries if query.query == change.query), None)
    if started is None:
        known = ", ".join(query.query for query in queries)
        raise NotFound("query.not_found", f"Job {name} has no query {change.query!r}: it has {known}", "Name one of them.")
    if any(query.query == to for query in queries):
        raise AlreadyExists("query.exists", f"Job {name} has a query {to} already", "Give it another name.")
    plan = RenamePlan(name, started.query, to, started.checkpoint, len(savepoints.newest_first(context, name)))
    return Planned(plan, lambda _: _rename(context, plan, old, queries))


def _watched(context: Context, change: RenameQuery) -> tuple[Run, list[QueryStarted]]:
    """The run and the queries of a job that runs elsewhere."""
    name = runs.known(context, change.job)
    job, run = context.files.job(name), runs.newest(context, name)
    if job is None or not job.attached or run is None:
        hint = "Give it another queryName in its code; a query that was renamed begins anew."
        raise Conflict("rename.own", f"Job {name} runs here, and its script names its queries", hint)
    return run, list(sources.started_queries(context, name, run.id))


def _rename(context: Context, plan: RenamePlan, old: Run, queries: list[QueryStarted]) -> Run:
    with context.holding(plan.job):
        if context.files.wanted(plan.job).run != old.id:
            raise Conflict("rename.overtaken", f"Another query of {plan.job} was renamed meanwhile", "Rename it again.")
        run = _begin(context, plan, old, queries)  # 1
        context.files.write(context.layout.wanted_file(plan.job), Wanted(run.id))  # 2
        _replace(context, old, run)  # 3
        shutil.rmtree(context.layout.run(plan.job, old.id))  # 4
        events.say(context, "job.renamed_query", plan.job, run.id, f"query {plan.query} of {plan.job} is called {plan.to}")
        context.changed.set()
        return run


def _begin(context: Context, plan: RenamePlan, old: Run, queries: list[QueryStarted]) -> Run:
    """A run like the old one but for the name, in its folder."""
    run = RunId(context.new_id("r"))
    spec = replace(
        context.files.spec(plan.job, old.id),
        run=run,
        checkpoints=str(context.layout.checkpoints(plan.job, run)),
        created_ms=context.now_ms(),
    )
    before, folder = context.layout.run(plan.job, old.id), context.layout.run(plan.job, run)
    runs.write_spec(context, spec)
    for file in (PROGRESS_FILE, ingestion.SIZES_FILE):
        if (before / file).is_file():
            lines = _lines(before / file)
            context.files.write_bytes(folder / file, _text(_renamed(lines, plan) if file == PROGRESS_FILE else lines))
    started = (replace(query, query=plan.to) if query.query == plan.query else query for query in queries)
    context.files.write_bytes(folder / QUERIES_FILE, _text(json.dumps(query.as_json(), separators=(",", ":")) for query in started))
    return replace(runs.wanted_run(spec), state=RunState.WATCHED)


def _lines(path: Path) -> list[str]:
    """Those that are there still."""
    with path.open("rb") as file:
        fronts.first_line(file, LONGEST_BYTES)
        return file.read().decode().splitlines()


def _renamed(lines: Iterable[str], plan: RenamePlan) -> Iterator[str]:
    """Progress events of the query under its new name; lines that hold none stay as they are."""
    for line in lines:
        try:
            event = read_json(line)
        except ValueError:
            yield line
            continue
        named = isinstance(event, dict) and QueryName(event.get("name", "")) == plan.query
        yield json.dumps({**event, "name": plan.to}, separators=(",", ":")) if named else line


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _replace(context: Context, old: Run, run: Run) -> None:
    """The catalog knows the new run and what its files say, and the old one no more."""
    folder = f"jobs/{old.job}/runs/{old.id}"
    with context.ingesting:
        with context.catalog.writing() as writer:
            run_rows.forget(writer, old.id)
            position_rows.forget(writer, folder)
            run_rows.save(writer, [run])
        ingestion.leave(context, f"{folder}/")
    ingestion.follow(context, ingestion.of_run(context, run.job, run.id))
