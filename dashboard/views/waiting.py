"""What mostly answers at once, and takes its time where a savepoint's bytes are copied: no page stands still for it.

Whoever asks goes on in the same run where the answer is there by then. Else it comes in a thread, the bar of its operation is on the
page, and the page that asked finds the answer under the same key when it is drawn anew. Whoever has gone elsewhere reads it at the foot.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import streamlit as st

from dashboard import session, undo
from dashboard.answers import beside
from dashboard.views import operations
from pipelines.domain.errors import TidemarkError
from pipelines.domain.requests import ResumeRequest, TakeRequest
from pipelines.domain.savepoints import Savepoint

T = TypeVar("T")
AT_ONCE_S = 0.8
"""By then what is not there is an operation."""
CANCELLED = "operation.cancelled"
BUSY = "It is under way: see the bar"


@dataclass
class _Asked:
    """A call of this session; `words` say at the foot of another page that it is done."""

    answer: Future[Any]
    words: str
    is_told: bool = False


def _asked() -> dict[str, _Asked]:
    if "waiting" not in st.session_state:
        st.session_state["waiting"] = {}
    return cast(dict[str, _Asked], st.session_state["waiting"])


def take(job: str, request: TakeRequest) -> Savepoint | None:
    """The savepoint that `request` asks for; None where that takes its time: the job's page shows how far it is, and what came of it."""
    taken = ask(_taking(job), partial(session.workspace().take, job, request), f"A savepoint of {job} was taken")
    return taken if isinstance(taken, Savepoint) else None


def taken(job: str) -> Savepoint | None:
    """The savepoint of the job that was waited for; raises what refused it."""
    found = answered(_taking(job))
    return found if isinstance(found, Savepoint) else None


def resume(job: str, request: ResumeRequest) -> bool:
    """Whether the job goes on; where that takes its time its page shows how far it is, and what came of it."""
    return ask(_resuming(job), partial(session.workspace().resume, job, request), f"{job} was resumed") is not None


def resumed(job: str) -> bool:
    """Whether a resume that was waited for is done; raises what refused it."""
    return answered(_resuming(job)) is not None


def busy(job: str) -> bool:
    """Whether a savepoint or a resume of the job is waited for."""
    return is_asked(_taking(job)) or is_asked(_resuming(job))


def _taking(job: str) -> str:
    return f"take_{job}"


def _resuming(job: str) -> str:
    return f"resume_{job}"


def ask(key: str, call: Callable[[], T], words: str) -> T | None:
    """What `call` answers, None where that takes its time or is under way already; raises what it raises."""
    if key not in _asked():
        _asked()[key] = _Asked(beside(call), words)
        wait([_asked()[key].answer], timeout=AT_ONCE_S)
    return cast("T | None", answered(key))


def answered(key: str) -> object | None:
    """What came of what was asked under `key`, once; None while nothing has, and where this session cancelled it. Raises what it raised."""
    if not is_asked(key) or not _asked()[key].answer.done():
        return None
    answer = _asked().pop(key).answer
    error = answer.exception()
    if isinstance(error, TidemarkError) and _is_known(error):
        return None
    return cast(object, answer.result())


def is_asked(key: str) -> bool:
    """Whether somebody waits for it, or for its answer to be looked at."""
    return key in _asked()


def see() -> bool:
    """Whether an answer has come that the page beneath may wait for; one that it did not take is said at the foot."""
    come = {key: one for key, one in _asked().items() if one.answer.done()}
    for key in [key for key, one in come.items() if one.is_told]:
        _say(_asked().pop(key))
    new = [one for one in come.values() if not one.is_told]
    for one in new:
        one.is_told = True
    return bool(new)


def _say(asked: _Asked) -> None:
    error = asked.answer.exception()
    if error is None:
        undo.say(asked.words)
    elif not isinstance(error, TidemarkError):
        raise error
    elif not _is_known(error):
        undo.refuse(error)


def _is_known(error: TidemarkError) -> bool:
    """What was cancelled here is said where it was cancelled."""
    return error.code == CANCELLED and operations.cancels()
