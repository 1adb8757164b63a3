"""Probations: watches runs of changed code, and has their jobs go back where they fail.

The order, and what a crash after each step leaves: (1) `probation.json` says that the run missed a limit, the next supervisor ends its
driver then; (2) the run's exit is in its file; (3) `probation.json` says that the job goes back, and why; (4) `restart.json` says so: the
next supervisor decides anew; (5) the catalog has the run as restarting; (6) `workspace.returns` resumes the job as the version before,
which ends in `wanted.json`. Until then a crash leaves a job that still is to go back.
"""

from __future__ import annotations

from pipelines.domain import probations
from pipelines.domain.ids import RunId
from pipelines.domain.jobs import Run
from pipelines.domain.probations import Probation, Stand
from pipelines.domain.restarts import FailedBatch, RestartDecision
from pipelines.domain.runs import Exit, RunState
from pipelines.words import probations as words
from pipelines.words import restarts
from pipelines.workspace import events, failures
from pipelines.workspace import probations as documents
from pipelines.workspace.context import Context


class Watch:
    """Looks at runs that are on probation, in each pass."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settled: set[RunId] = set()

    def look(self, run: Run) -> bool:
        """Whether the run has just missed a limit, so that it is to be ended."""
        if run.id in self._settled or run.state is not RunState.RUNNING:
            return False
        probation = documents.of_run(self._context, run.job, run.id)
        if probation is None or probation.stand is not Stand.WATCHED:
            self._settled.add(run.id)
            return False
        return judged(self._context, run, probation, self._context.now_ms()).stand is Stand.BACK

    def keep(self, live: set[RunId]) -> None:
        """Forgets all other runs."""
        self._settled &= live


def judged(context: Context, run: Run, probation: Probation, at_ms: int) -> Probation:
    """The probation as it stands at `at_ms`; where it is over that is kept, and said."""
    seen = documents.seen(context, run, probation.terms, at_ms)
    if why := probations.missed(probation.terms, seen):
        return documents.ended(context, run, probation, Stand.BACK, why)
    return passed(context, run, probation) if probations.is_over(probation.terms, seen) else probation


def passed(context: Context, run: Run, probation: Probation) -> Probation:
    """Keeps and says that the run has passed."""
    after = documents.ended(context, run, probation, Stand.PASSED, "")
    message = f"version {run.version} of {run.job} has passed its probation ({words.terms(probation.terms)})"
    events.say(context, "job.probation_passed", run.job, run.id, message)
    return after


def after(context: Context, run: Run, ended: Exit, *, stopping: bool) -> RestartDecision | None:
    """That the job goes back now that `run` ended like this; None where it was not on probation any more, or has passed."""
    probation = documents.of_run(context, run.job, run.id)
    if probation is None or probation.stand in (Stand.PASSED, Stand.ENDED):
        return None
    if stopping or ended.reason == "stopped":
        documents.ended(context, run, probation, Stand.ENDED, "it was stopped")
        return None
    if probation.stand is Stand.WATCHED:
        probation = judged(context, run, probation, ended.at_ms)
    if probation.stand is Stand.WATCHED and ended.reason == "finished":
        probation = passed(context, run, probation)
    if probation.stand is Stand.PASSED:
        return None
    batch = failures.batch_of(context, run.job, run.id, ended.query) if ended.query else None
    if probation.stand is Stand.WATCHED:
        probation = documents.ended(context, run, probation, Stand.BACK, _failure(ended, batch))
    return RestartDecision(ended.at_ms, why=probation.why, batch=batch, back=probation.version)


def _failure(ended: Exit, batch: FailedBatch | None) -> str:
    """`batch 7 of counts failed: [DIVIDE_BY_ZERO] Division by zero`."""
    subject = f"batch {batch.batch:,} of {batch.query}" if batch else ended.query or "its run"
    return f"{subject} failed: {restarts.cause(ended).rstrip('.')}" if ended.reason == "failed" else f"its driver was {ended.reason}"
