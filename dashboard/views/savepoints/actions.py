"""Actions on savepoints: resume from one, verify them. Each asks the workspace for its plan first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from dashboard import navigation, session
from dashboard.views import changes, operations
from dashboard.views.endings import planned
from dashboard.widgets import confirm, error_box, message_box
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.verify import Verify
from pipelines.words import formats, plans
from pipelines.words import savepoints as words

T = TypeVar("T")
LEVELS = {Trust.COMPLETE: "Files and sizes", Trust.INTACT: "Checksums of all files"}
DAMAGED = "It is damaged: the last verification found files missing or changed. Nothing begins from it."
PROVES = "Spark restores it in a sandbox, counts its rows and runs one batch into a scratch output. It takes about a minute."


def why_not_resumed(savepoint: Savepoint) -> str:
    """The reason why its job cannot go back to it now; empty where it can."""
    if savepoint.damaged_files:
        return DAMAGED
    try:
        summary = session.workspace().ask(ShowJob(savepoint.job)).summary
    except NotFound:
        return f"Job {savepoint.job} was removed; fork the savepoint instead."
    if summary.job.attached:
        return f"{savepoint.job} runs elsewhere, and cannot be started from here; fork the savepoint instead."
    state = summary.state
    return f"{savepoint.job} is {state}: stop it first, or fork." if state and state.live else ""


def ask_resume(savepoint: Savepoint) -> None:
    """Explains the resume from a savepoint, asks once, and opens the job."""
    plan = planned(Resume(savepoint.job, from_savepoint=savepoint.id))
    if plan is None:
        return
    sinks = "".join(f"\n- {plans.sink(sink)}" for sink in plan.sinks)
    says = f"**{savepoint.job}** begins again at {words.points(savepoint)}, with the code it ran last and with its own query id.\n{sinks}"
    details = " · ".join(f"{name}: {value}" for name, value in plans.restore(plan))
    title = f"Resume {savepoint.job} from {formats.short_id(savepoint.id)}"
    refused = plan.refusal.error if plan.refusal else None
    confirm(title, says, "Resume from here", lambda: _resume(savepoint), details=details, refused=refused)


def _resume(savepoint: Savepoint) -> None:
    changes.resume(Resume(savepoint.job, from_savepoint=savepoint.id))
    navigation.go("job", job=savepoint.job)


def verify(chosen: Sequence[Savepoint], level: Trust) -> None:
    """Begins a verification of each; progress and outcome are shown above."""
    if each(chosen, lambda savepoint: operations.begin(Verify(savepoint.id, level))):
        st.rerun()


def each(chosen: Sequence[Savepoint], act: Callable[[Savepoint], object]) -> bool:
    """Calls `act` for each and shows the errors; an error does not stop the others. Returns whether all are done."""
    failed = refusals(chosen, act)
    if failed and len(chosen) > 1:
        message_box(f"{len(chosen) - len(failed)} of {len(chosen)} savepoints are done", tone="blue")
    for refused in failed:
        error_box(refused)
    return not failed


def refusals(items: Sequence[T], act: Callable[[T], object]) -> list[TidemarkError]:
    """Calls `act` for each and returns the errors; an error does not stop the others."""
    failed: list[TidemarkError] = []
    for item in items:
        try:
            act(item)
        except TidemarkError as error:
            failed.append(error)
    return failed
