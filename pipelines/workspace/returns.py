"""A job that goes back by itself: its changed code failed in its probation, and it is resumed as the version before."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.errors import TidemarkError
from pipelines.domain.jobs import Run
from pipelines.domain.probations import Probation, Way
from pipelines.domain.runs import RunState
from pipelines.domain.verdicts import Outcome, Verdict
from pipelines.verbs.resume import Resume
from pipelines.verbs.verb import Works
from pipelines.words import probations as words
from pipelines.workspace import events, operations, probations, restarts, resumes, runs
from pipelines.workspace.context import Context


def go_back(context: Context, run: Run) -> None:
    """Resumes the job as the version before, as somebody would by hand. Where that is refused the job stays failed, and says why."""
    decision, probation = run.restart, probations.of_run(context, run.job, run.id)
    if decision is None or decision.back is None or probation is None:
        return
    with context.holding(run.job):
        if _is_overtaken(context, run):
            return
        try:
            begun = _resumed(context, run, probation)
        except TidemarkError as error:
            restarts.keep(context, run, replace(decision, at_ms=None, why=f"{decision.why}. Going back was refused: {error.message}"))
            message = f"{run.job} did not go back to version {decision.back}: {error.message}"
            events.say(context, "job.going_back_failed", run.job, run.id, message)
            return
    events.say(context, "job.went_back", run.job, begun.id, words.went_back(run.job, probation))


def _resumed(context: Context, run: Run, probation: Probation) -> Run:
    savepoint = probation.savepoint or "" if probation.way is Way.SAVEPOINT else ""
    change = Resume(run.job, from_savepoint=savepoint, version=probation.version)
    if (taken := probation.resources) is not None:
        change = replace(change, memory_bytes=taken.memory_bytes or 0, cpus=taken.cpus or 0.0)
    works = Works("resume", run.job, savepoint)
    verdict = _same(run, probation)
    return operations.noticed(
        context, works, lambda ticket: resumes.planned(context, change, verdict=verdict).do(ticket), lambda run: run.job
    )


def _same(run: Run, probation: Probation) -> Verdict | None:
    """On from the newest batch it goes only where the changed code was found to be the same, which holds the other way round, too."""
    if probation.way is not Way.NEWEST or run.edge is None or run.edge.savepoint is None or run.edge.outcome is not Outcome.SAME:
        return None
    return Verdict(run.edge.savepoint, probation.version, Outcome.SAME, ())


def _is_overtaken(context: Context, run: Run) -> bool:
    """Whether somebody began the job, or stopped it, meanwhile."""
    newest = runs.newest(context, run.job)
    return newest is None or newest.id != run.id or newest.state is not RunState.RESTARTING
