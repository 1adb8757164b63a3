"""Stops and drops that have ended: what came of them is said where somebody looks, with the way back."""

from __future__ import annotations

from functools import partial

from dashboard import session, undo
from dashboard.views import operations
from dashboard.views.experiments.reading import of_job
from pipelines.domain.decisions import Choice
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.requests import ResumeRequest, UndropRequest
from pipelines.domain.savepoints import Savepoint

STOPPED = {"stop": "stopped at", "cancel": "was cancelled after"}
"""Kind of a stop -> what the job did, before the batch."""


def see() -> bool:
    """Says what came of each that has ended; whether there was one. A drop that failed stays among the operations."""
    stops = operations.ended(lambda one: one.kind in STOPPED)
    drops = operations.ended(lambda one: one.kind == "drop" and one.state is OperationState.DONE)
    for ended in (*stops, *drops):
        operations.put_away(ended.id)
    for stop in stops:
        _stopped(stop)
    for drop in drops:
        dropped(drop.subject)
    return bool(stops or drops)


def _stopped(ended: Operation) -> None:
    from dashboard.views.job import notices

    if ended.state is OperationState.FAILED:
        error = TidemarkError(ended.error_code, ended.error_message, ended.error_hint)
        if session.selected("job") == ended.job:
            notices.say(notices.Notice(ended.job, error=error))
        else:
            undo.refuse(error)
        return
    taken = session.workspace().savepoint(ended.result) if ended.result else None
    if taken:
        notices.say(notices.Notice(ended.job, taken, title="Stopped, with a savepoint"))
    offer_resume(ended.job, f"{ended.job} {STOPPED[ended.kind]}", taken)


def offer_resume(job: str, words: str, taken: Savepoint | None = None) -> None:
    """Says that a job stands, with the button that goes on exactly there; `words` come before the batch."""
    try:
        summary = session.workspace().job(job).summary
    except NotFound:
        return
    if summary.state is not None and summary.state.live:
        return
    batch = taken.batch if taken else summary.batch
    said = f"{words} batch {batch:,}" if batch is not None else words.removesuffix(" at").removesuffix(" after")
    undo.offer(said, partial(_resume, job), action="Resume")


def _resume(job: str) -> str:
    from dashboard.views.job import notices

    state = session.workspace().job(job).summary.state
    runs = state is not None and state.live
    if not runs:
        session.workspace().resume(job, ResumeRequest())
    notices.put_away()
    return f"{job} runs already" if runs else f"{job} goes on where it stopped"


def dropped(job: str) -> None:
    """Says that a variant was dropped, with Undo; of a fork that is in no experiment nothing but its stop can be taken back."""
    decided = of_job(session.workspace().experiments(), job)
    if decided and decided[1].choice is Choice.DROPPED:
        undo.offer(f"{job} was dropped", partial(undrop, job))
    else:
        offer_resume(job, f"{job} was dropped at")


def undrop(job: str) -> str:
    """Takes a dropped variant back; answers with how it stands."""
    done = session.workspace().undrop(job, UndropRequest())
    return f"{job} is back, and goes on where it was stopped" if done.run else f"{job} is back; it does not run"
