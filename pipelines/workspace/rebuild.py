"""The catalog from the files: all of it anew, or only what it lacks."""

from __future__ import annotations

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
from pipelines.domain.runs import EXIT_STATES, RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.versions import Version
from pipelines.savepoint import library
from pipelines.workspace import events, ingestion, runs
from pipelines.workspace.context import Context
from pipelines.workspace.files import readable


@dataclass(frozen=True)
class Known:
    """Everything that the workspace's documents say, and what could not be read."""

    jobs: tuple[Job, ...]
    runs: tuple[Run, ...]
    versions: tuple[Version, ...]
    savepoints: tuple[Savepoint, ...]
    experiments: tuple[Experiment, ...]
    unreadable: tuple[TidemarkError, ...]


def rebuild(context: Context) -> dict[str, int]:
    """The catalog anew in one transaction: readers see the old one until it is whole. Rows by table."""
    with context.ingesting:
        known = read(context)
        places: dict[str, int] = {}
        with context.catalog.writing() as writer:
            running = operation_rows.running(writer)
            catalog_rebuild.reset(writer)
            _save(writer, known)
            operation_rows.save(writer, running)
            _replay(context, writer, places)
        context.file_positions.clear()
        context.file_positions.update(places)
    report(context, known)
    with context.catalog.reading() as reader:
        return catalog_rebuild.counts(reader)


def register(context: Context) -> None:
    """Brings the catalog up to what the files have: adds what it lacks, removes what is gone. Runs that it knows stay as they are."""
    known = read(context)
    names, kept = set(context.files.job_names()), {savepoint.id for savepoint in known.savepoints}
    with context.catalog.writing() as writer:
        for job in job_rows.listed(writer):
            if job.name not in names:
                job_rows.forget(writer, job.name)
        for savepoint in savepoint_rows.listed(writer):
            if savepoint.id not in kept:
                savepoint_rows.forget(writer, savepoint.id)
        there = {run.id for run in run_rows.listed(writer)}
        _save(writer, replace(known, runs=tuple(run for run in known.runs if run.id not in there)))
    report(context, known)


def report(context: Context, known: Known) -> None:
    """Each document that cannot be read is an event: it is left alone, and never hidden."""
    for error in known.unreadable:
        events.append(context, Event(context.now_ms(), error.code, None, "", error.message))
    ingestion.workspace_events(context)


def read(context: Context) -> Known:
    """All documents; a damaged one does not keep the others from being read."""
    shelf = library.shelf(context.library)
    wrong: list[TidemarkError] = [one.error for one in shelf.unreadable]
    names = context.files.job_names()
    ran = [(name, run) for name in names for run in context.files.run_ids(name)]
    return Known(
        jobs=readable(context.files.job, names, wrong),
        runs=readable(lambda pair: seen_run(context, *pair), ran, wrong),
        versions=readable(context.files.version, context.files.version_ids(), wrong),
        savepoints=shelf.savepoints,
        experiments=readable(context.files.experiment, context.files.experiment_ids(), wrong),
        unreadable=tuple(wrong),
    )


def seen_run(context: Context, job: JobName, run: RunId) -> Run:
    """A run as its files show it. One that did not end counts as about to start; the supervisor finds out what it really does."""
    wanted = runs.wanted_run(context.files.spec(job, run))
    process, exit_ = context.files.process(job, run), context.files.exit(job, run)
    state = EXIT_STATES[exit_.reason] if exit_ else RunState.STARTING if process else _begun_state(context, job)
    return Run(
        wanted.id,
        job,
        wanted.version,
        state,
        wanted.created_ms,
        started_ms=round(process.started * 1000) if process else None,
        ended_ms=exit_.at_ms if exit_ else None,
        pid=process.pid if process else None,
        exit=exit_,
        from_savepoint=wanted.from_savepoint,
        checkpoints=wanted.checkpoints,
    )


def _begun_state(context: Context, job: JobName) -> RunState:
    known = context.files.job(job)
    return RunState.WATCHED if known is not None and known.attached else RunState.WANTED


def _save(writer: Writer, known: Known) -> None:
    job_rows.save(writer, known.jobs)
    run_rows.save(writer, known.runs)
    version_rows.save(writer, known.versions)
    savepoint_rows.save(writer, known.savepoints)
    experiment_rows.save(writer, known.experiments)


def _replay(context: Context, writer: Writer, places: dict[str, int]) -> None:
    sources = ingestion.everything(context)
    while (found := ingestion.read(context, sources, places)).reached:
        ingestion.record(writer, found)
        places.update(found.reached)
