"""Changes that answer at once, or run as an operation while a savepoint's bytes are copied: no page blocks on them.

An answer that is there at once is returned in the same run. Otherwise the page shows the operation's bar and takes the answer under
the same key when it is drawn again; on another page the answer is shown in the notice at the foot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

import streamlit as st

from dashboard import once, session, undo
from dashboard.views import operations
from pipelines.domain.errors import TidemarkError
from pipelines.domain.jobs import Run
from pipelines.domain.operations import OperationState
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.resume import Resume
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Begun, Change

A = TypeVar("A")
CANCELLED = "operation.cancelled"
BUSY = "An operation on this job is running: see its progress bar"


@dataclass
class _Asked:
    """A change that this session began; `words` say at the foot of another page that it is done."""

    begun: Begun[Any]
    words: str
    is_told: bool = False

    def has_ended(self) -> bool:
        operation = self.begun.operation
        return operation is None or session.workspace().ask(ShowOperation(operation.id)).state is not OperationState.RUNNING

    def answer(self) -> object | None:
        """The answer; None where this session cancelled it. Raises the error that it failed with."""
        try:
            return cast(object, session.workspace().answer(self.begun))
        except TidemarkError as error:
            if _is_known(error):
                return None
            raise


def _asked() -> dict[str, _Asked]:
    if "waiting" not in st.session_state:
        st.session_state["waiting"] = {}
    return cast(dict[str, _Asked], st.session_state["waiting"])


def take(change: Take) -> Savepoint | None:
    """Takes a savepoint and returns it; None while its operation runs: the job's page shows its progress and outcome."""
    return ask(_taking(change.job), change, f"A savepoint of {change.job} was taken")


def taken(job: str) -> Savepoint | None:
    """The savepoint of the job that was awaited, once; None while there is none. Raises the error that refused it."""
    return cast("Savepoint | None", answered(_taking(job)))


def resume(change: Resume) -> Run | None:
    """Resumes a job and returns its run; None while its operation runs: the job's page shows its progress and outcome."""
    return ask(_resuming(change.job), change, f"{change.job} was resumed")


def resumed(job: str) -> bool:
    """Whether an awaited resume is done; raises the error that refused it."""
    return answered(_resuming(job)) is not None


def busy(job: str) -> bool:
    """Whether a savepoint or a resume of the job is awaited."""
    return is_asked(_taking(job)) or is_asked(_resuming(job))


def _taking(job: str) -> str:
    return f"take_{job}"


def _resuming(job: str) -> str:
    return f"resume_{job}"


def ask(key: str, change: Change[A, Any], words: str) -> A | None:
    """Begins `change`, unless one is awaited under `key`, and returns its answer; None while its operation runs. Raises what refuses it."""
    if not is_asked(key):
        begun = once.begin(change)
        if begun.is_answered:
            return begun.answer
        _asked()[key] = _Asked(begun, words)
    return cast("A | None", answered(key))


def answered(key: str) -> object | None:
    """The answer awaited under `key`, once; None while there is none, and where this session cancelled it. Raises the change's error."""
    if not is_asked(key) or not _asked()[key].has_ended():
        return None
    return _asked().pop(key).answer()


def is_asked(key: str) -> bool:
    """Whether a change is awaited under `key`, or its answer is not taken yet."""
    return key in _asked()


def see() -> bool:
    """Whether an answer has come that the current page may await; one that it did not take is shown at the foot."""
    ended = {key: asked for key, asked in _asked().items() if asked.has_ended()}
    for key in [key for key, asked in ended.items() if asked.is_told]:
        _say(_asked().pop(key))
    new = [asked for asked in ended.values() if not asked.is_told]
    for asked in new:
        asked.is_told = True
    return bool(new)


def _say(asked: _Asked) -> None:
    try:
        if asked.answer() is not None:
            undo.say(asked.words)
    except TidemarkError as error:
        undo.refuse(error)


def _is_known(error: TidemarkError) -> bool:
    """Whether this session cancelled it, so that the page shows that already."""
    return error.code == CANCELLED and operations.cancels()
