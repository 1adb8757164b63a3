"""Probations of changed code: what a resume plans and writes down, and how a run that is watched stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pipelines.catalog import batches as batch_rows
from pipelines.catalog import runs as run_rows
from pipelines.catalog import summaries as summary_rows
from pipelines.domain import errors, probations
from pipelines.domain.errors import Conflict, Invalid
from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId
from pipelines.domain.jobs import Run
from pipelines.domain.probations import PROBATION_FILE, Probation, Seen, Stand, Terms, Took, Way
from pipelines.domain.resources import Resources
from pipelines.domain.restores import RestorePlan
from pipelines.savepoint import sinks
from pipelines.verbs.probation import OnProbation
from pipelines.words import alerts, figures
from pipelines.workspace import failures, safety, sources
from pipelines.workspace.alerts import rules
from pipelines.workspace.context import Context


def planned(context: Context, change: OnProbation, newest: Run, shown: RestorePlan, before: Resources) -> RestorePlan:
    """The plan of a resume after the run `newest` with the probation that is asked for; refused where there is no way back. `before`: what
    the job may take as it is.

    Raises Invalid (`probation.endless`, `probation.same_version`, `probation.limit`, `alert.when`).
    """
    for text in change.probation_limits:
        rules.check_figure(probations.limit(text))
    terms = probations.terms(change.probation_batches, change.probation_ms, change.longest_batch_ms, change.probation_limits)
    if terms is None:
        return shown
    if shown.version == newest.version:
        message = f"The job goes on as version {newest.version}, as before: there is no other one to go back to"
        raise Invalid("probation.same_version", message, "Change its code, arguments or confs, or leave the probation out.")
    safe = safety.before_an_upgrade(context, newest) if shown.checkpoints == newest.checkpoints else None
    back = shown.sinks if safe is None else safety.sinks(context, safe)
    rewritten = shown.migration is not None or bool(shown.spark)
    try:
        way = probations.way(sinks.uncut(back), shown.verdict, unsaved=safe.skipped if safe else "", rewritten=rewritten)
    except Conflict as error:
        return replace(shown, refusal=shown.refusal or errors.refusal(error))
    taken = before if shown.resources != before else None
    return replace(shown, probation=Probation(terms, way, newest.version, shown.savepoint or None, taken))


def before(probation: Probation, savepoint: str) -> Probation:
    """The probation that was planned, of a run that begins from `savepoint`, or on its job's own checkpoint."""
    return replace(probation, savepoint=probation.savepoint or SavepointId(savepoint) or None)


def keep(context: Context, job: JobName, run: RunId, probation: Probation) -> None:
    context.files.write(context.layout.run(job, run) / PROBATION_FILE, probation)


def of_run(context: Context, job: JobName, run: RunId) -> Probation | None:
    """The probation of the run, over or not; None where it has none."""
    return context.files.find(Probation, context.layout.run(job, run) / PROBATION_FILE)


def ways_back(context: Context) -> Mapping[SavepointId, JobName]:
    """The savepoints that jobs would go back to, or are going back to now."""
    with context.catalog.reading() as reader:
        newest = (run_rows.newest(reader, job) for job in run_rows.restarting(reader))
        going = [*run_rows.live(reader), *(run for run in newest if run is not None)]
    watched = ((run.job, of_run(context, run.job, run.id)) for run in going)
    return {
        probation.savepoint: job
        for job, probation in watched
        if probation is not None and probation.savepoint is not None
        if probation.way is Way.SAVEPOINT and probation.stand in (Stand.WATCHED, Stand.BACK)
    }


def ended(context: Context, run: Run, probation: Probation, stand: Stand, why: str) -> Probation:
    """Keeps that the probation is over."""
    after = replace(probation, stand=stand, why=why, at_ms=context.now_ms())
    keep(context, run.job, run.id, after)
    return after


def seen(context: Context, run: Run, terms: Terms, at_ms: int) -> Seen:
    """How the run stands."""
    started = list(sources.started_queries(context, run.job, run.id))
    with context.catalog.reading() as reader:
        first = batch_rows.first(reader, run.id, most=terms.batches, longest_ms=terms.longest_batch_ms)
    counted = {QueryName(query.query): query.ended for query in first}
    too_long = tuple(Took(QueryName(query.query), query.batch, round(query.ms)) for query in first if query.batch is not None and query.ms)
    return Seen(
        at_ms,
        min((query.at_ms for query in started), default=None),
        {query.query: counted.get(query.query, 0) for query in started},
        too_long,
        () if terms.longest_batch_ms is None else failures.under_way(context, run.job, run.id, at_ms),
        _beyond(context, run, terms, at_ms) if any(counted.values()) else (),
    )


def _beyond(context: Context, run: Run, terms: Terms, at_ms: int) -> tuple[str, ...]:
    """The figures of the job that are beyond a limit, as alerts would say it."""
    if not terms.limits:
        return ()
    with context.catalog.reading() as reader:
        (summary,) = summary_rows.listed(reader, at_ms, run.job)
    readings = (alerts.reading(probations.limit(text), figures.Seen(summary, at_ms)) for text in terms.limits)
    return tuple(reading.words for reading in readings if reading.holds)
