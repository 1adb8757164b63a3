"""The catalog from the files: all of it anew, or only what it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.catalog import experiments as experiment_rows
from pipelines.catalog import jobs as job_rows
from pipelines.catalog import operations as operation_rows
from pipelines.catalog import rebuild as catalog_rebuild
from pipelines.catalog import runs as run_rows
from pipelines.catalog import savepoints as savepoint_rows
from pipelines.catalog import versions as version_rows
from pipelines.catalog.connection import Writer
from pipelines.domain.errors import TidemarkError
from pipelines.domain.experiments import Experiment
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Event, Job, Run
from pipelines.domain.restarts import RestartDecision
from pipelines.domain.runs import EXIT_STATES, RESTART_FILE, Exit, RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.versions import Version
from pipelines.savepoint import library
from pipelines.verbs.system import RebuildCatalog, RebuildPlan
from pipelines.workspace import events, homes, ingestion, repairs, runs
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans
from pipelines.workspace.files import readable
from pipelines.workspace.tickets import Ticket

ChangedRuns = Callable[[Mapping[RunId, Run], Sequence[Run]], Iterable[Run]]
"""Of the runs that the catalog has, by id, and of those that the files have: those to save."""


@dataclass(frozen=True)
class Known:
    """The content of the workspace's documents, and the errors of those that could not be read."""

    jobs: tuple[Job, ...]
    runs: tuple[Run, ...]
    versions: tuple[Version, ...]
    savepoints: tuple[Savepoint, ...]
    experiments: tuple[Experiment, ...]
    unreadable: tuple[TidemarkError, ...]


@plans(RebuildCatalog)
def plan(context: Context, change: RebuildCatalog) -> Planned[dict[str, int], RebuildPlan]:
    documents = read_all(context)

    def work(_: Ticket) -> dict[str, int]:
        repairs.repair(context)
        return rebuild(context, documents)

    return Planned(RebuildPlan(len(documents.jobs), len(documents.savepoints)), work)


def rebuild(context: Context, documents: Known) -> dict[str, int]:
    """The catalog anew from `documents`, in one transaction: readers see the old one until it is whole. Rows by table."""
    with context.ingesting:
        places: dict[str, int] = {}
        with context.catalog.writing() as writer:
            running = operation_rows.running(writer)
            catalog_rebuild.reset(writer)
            _save(writer, documents)
            operation_rows.save(writer, running)
            _replay(context, writer, places)
        context.file_positions.clear()
        context.file_positions.update(places)
    report(context, documents)
    with context.catalog.reading() as reader:
        return catalog_rebuild.counts(reader)


def fill(context: Context) -> None:
    """Everything that the files say into a catalog that is empty; what cannot be read is left out."""
    documents = read(context)
    with context.ingesting, context.catalog.writing() as writer:
        _save(writer, documents)
        _replay(context, writer, context.file_positions)


def register(context: Context) -> None:
    """Brings the catalog up to what the files have. Runs that it knows stay as they are, but for those that were to be restarted: another
    may have been begun."""
    report(context, bring_up(context, _unknown))


def _unknown(known: Mapping[RunId, Run], seen: Sequence[Run]) -> Iterable[Run]:
    return (run for run in seen if run.id not in known or known[run.id].state is RunState.RESTARTING)


def bring_up(context: Context, changed: ChangedRuns, keep_on: Callable[[], object] = lambda: None) -> Known:
    """Adds to the catalog what the documents have and it lacks, removes what is gone; of runs those that are `changed`. What `keep_on`
    raises before the documents of a run are read breaks it off before anything is written."""
    documents = read(context, keep_on)
    errors = list(documents.unreadable)
    elsewhere = set(homes.noted(context, errors))
    documents = replace(documents, unreadable=tuple(errors))
    names, savepoint_ids = set(context.files.job_names()), elsewhere | {savepoint.id for savepoint in documents.savepoints}
    with context.catalog.writing() as writer:
        for job in job_rows.listed(writer):
            if job.name not in names:
                job_rows.forget(writer, job.name)
        for savepoint in savepoint_rows.listed(writer):
            if savepoint.id not in savepoint_ids:
                savepoint_rows.forget(writer, savepoint.id)
        known_runs = {run.id: run for run in run_rows.listed(writer)}
        _save(writer, replace(documents, runs=tuple(changed(known_runs, documents.runs))))
    return documents


def report(context: Context, documents: Known) -> None:
    """Writes an event for each document that cannot be read; the document itself is left alone."""
    for error in documents.unreadable:
        events.append(context, Event(context.now_ms(), error.code, None, "", error.message))
    ingestion.workspace_events(context)


def read_all(context: Context) -> Known:
    """All documents, and the savepoints that lie elsewhere; of a home that is away as they are listed."""
    documents = read(context)
    with context.catalog.reading() as reader:
        listed = {savepoint.id: savepoint for savepoint in savepoint_rows.listed(reader)}
    errors = list(documents.unreadable)
    elsewhere = tuple(homes.read(context, listed, errors))
    return replace(documents, savepoints=(*documents.savepoints, *elsewhere), unreadable=tuple(errors))


def read(context: Context, keep_on: Callable[[], object] = lambda: None) -> Known:
    """All documents in the workspace; a damaged one does not keep the others from being read, what `keep_on` raises does."""

    def seen(ran: tuple[JobName, RunId]) -> Run:
        keep_on()
        return seen_run(context, *ran)

    shelf = library.shelf(context.library)
    errors: list[TidemarkError] = [entry.error for entry in shelf.unreadable]
    names = context.files.job_names()
    ran = [(name, run) for name in names for run in context.files.run_ids(name)]
    return Known(
        jobs=readable(lambda name: repairs.known_job(context, name), names, errors),
        runs=readable(seen, ran, errors),
        versions=readable(context.files.version, context.files.version_ids(), errors),
        savepoints=shelf.savepoints,
        experiments=readable(context.files.experiment, context.files.experiment_ids(), errors),
        unreadable=tuple(errors),
    )


def seen_run(context: Context, job: JobName, run: RunId) -> Run:
    """A run as its files show it. One that did not end counts as about to start; the supervisor finds out what it really does."""
    asked_for = runs.wanted_run(context.files.spec(job, run))
    process, exit_ = context.files.process(job, run), context.files.exit(job, run)
    decision = context.files.find(RestartDecision, context.layout.run(job, run) / RESTART_FILE)
    state = _ended_state(context, job, run, exit_, decision) if exit_ else RunState.STARTING if process else _begun_state(context, job)
    return Run(
        asked_for.id,
        job,
        asked_for.version,
        state,
        asked_for.created_ms,
        started_ms=process.began_ms if process else None,
        ended_ms=exit_.at_ms if exit_ else None,
        pid=process.pid if process else None,
        exit=exit_,
        from_savepoint=asked_for.from_savepoint,
        checkpoints=asked_for.checkpoints,
        attempt=asked_for.attempt,
        restart=decision,
        edge=context.files.edge(job, run),
    )


def _ended_state(context: Context, job: JobName, run: RunId, ended: Exit, decision: RestartDecision | None) -> RunState:
    """A run that failed is restarting until another one is wanted."""
    restarts = decision is not None and decision.at_ms is not None and context.files.wanted(job).run == run
    return RunState.RESTARTING if restarts else EXIT_STATES[ended.reason]


def _begun_state(context: Context, job: JobName) -> RunState:
    return RunState.WATCHED if repairs.known_job(context, job).attached else RunState.WANTED


def _save(writer: Writer, documents: Known) -> None:
    job_rows.save(writer, documents.jobs)
    run_rows.save(writer, documents.runs)
    version_rows.save(writer, documents.versions)
    savepoint_rows.save(writer, documents.savepoints)
    experiment_rows.save(writer, documents.experiments)


def _replay(context: Context, writer: Writer, places: dict[str, int]) -> None:
    sources = ingestion.everything(context)
    while (lines := ingestion.read(context, sources, places)).reached:
        ingestion.record(writer, lines)
        places.update(lines.reached)
