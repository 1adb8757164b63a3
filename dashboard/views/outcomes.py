"""Stops and drops that have ended: their outcome is shown on the current page, with the way back."""

from __future__ import annotations

from functools import partial

from dashboard import notices, once, session, undo
from dashboard.views import operations
from pipelines.domain.decisions import Choice
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.experiments import decision_of
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.drop import Undrop
from pipelines.verbs.experiments import ListExperiments
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.words import decisions

STOPPED = {"stop": "stopped at", "cancel": "was cancelled after"}
"""Kind of a stop -> what the job did, before the batch."""


def see() -> bool:
    """Shows the outcome of each that has ended; returns whether there was one. A drop that failed stays among the operations."""
    stops = operations.ended(lambda operation: operation.kind in STOPPED)
    drops = operations.ended(lambda operation: operation.kind == "drop" and operation.state is OperationState.DONE)
    for ended in (*stops, *drops):
        operations.put_away(ended.id)
    for stop in stops:
        _stopped(stop)
    for drop in drops:
        dropped(drop.subject)
    return bool(stops or drops)


def _stopped(ended: Operation) -> None:
    if ended.state is OperationState.FAILED:
        error = TidemarkError(ended.error_code, ended.error_message, ended.error_hint)
        if session.selected("job") == ended.job:
            notices.say(notices.Notice(ended.job, error=error))
        else:
            undo.refuse(error)
        return
    taken = session.workspace().ask(ShowSavepoint(ended.result)) if ended.result else None
    if taken:
        notices.say(notices.Notice(ended.job, taken, title="Stopped, with a savepoint"))
    offer_resume(ended.job, f"{ended.job} {STOPPED[ended.kind]}", taken)


def offer_resume(job: str, words: str, taken: Savepoint | None = None) -> None:
    """Shows that a job has stopped, with a button that resumes it there; `words` come before the batch."""
    try:
        summary = session.workspace().ask(ShowJob(job)).summary
    except NotFound:
        return
    if summary.state is not None and summary.state.live:
        return
    batch = taken.batch if taken else summary.batch
    message = f"{words} batch {batch:,}" if batch is not None else words.removesuffix(" at").removesuffix(" after")
    undo.offer(message, partial(_resume, job), action="Resume")


def _resume(job: str) -> str:
    state = session.workspace().ask(ShowJob(job)).summary.state
    runs = state is not None and state.live
    if not runs:
        once.do(Resume(job))
    notices.put_away()
    return f"{job} runs already" if runs else f"{job} goes on where it stopped"


def dropped(job: str) -> None:
    """Shows that a variant was dropped, with Undo; for a fork in no experiment, with Resume."""
    decided = decision_of(session.workspace().ask(ListExperiments()), job)
    if decided and decided[1].choice is Choice.DROPPED:
        undo.offer(decisions.dropped(job), partial(undrop, job))
    else:
        offer_resume(job, f"{decisions.dropped(job)} at")


def undrop(job: str) -> str:
    """Undoes the drop of a variant; returns the outcome in words."""
    return decisions.undropped(once.do(Undrop(job)))
