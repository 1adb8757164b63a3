"""What can be done with savepoints: go back to one, check them. Each asks the workspace first what it would do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from dashboard import formats, navigation, session
from dashboard.views import operations, restore_plans, waiting
from dashboard.widgets import confirm, error_box, message_box
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.requests import ResumeRequest
from pipelines.domain.savepoints import RestorePlan, Savepoint
from pipelines.domain.trust import Trust

T = TypeVar("T")
LEVELS = {Trust.COMPLETE: "Files and sizes", Trust.INTACT: "Checksums of all files"}
PROVES = "Spark restores it in a sandbox, counts its rows and runs one batch into a scratch output. It takes about a minute."


def why_not_resumed(savepoint: Savepoint) -> str:
    """Why its job cannot go back to it now; empty where it can."""
    if savepoint.damaged_files:
        return "It is damaged: the last verification found files missing or changed."
    try:
        summary = session.workspace().job(savepoint.job).summary
    except NotFound:
        return f"Job {savepoint.job} was removed; fork the savepoint instead."
    if summary.job.attached:
        return f"{savepoint.job} runs elsewhere, and nothing here starts it; fork the savepoint instead."
    state = summary.state
    return f"{savepoint.job} is {state}: stop it first, or fork." if state and state.live else ""


def ask_resume(savepoint: Savepoint) -> None:
    """Says what going back means, asks once, and opens the job."""
    try:
        plan = session.workspace().resume(savepoint.job, ResumeRequest(savepoint.id, dry_run=True))
    except TidemarkError as error:
        error_box(error)
        return
    assert isinstance(plan, RestorePlan)
    sinks = "".join(f"\n- **{sink.query}** ({sink.sink}): {sink.message}" for sink in plan.sinks)
    says = f"**{savepoint.job}** begins again at batch {savepoint.batch:,}, with the code it ran last and with its own query id.\n{sinks}"
    costs = f"{formats.count(plan.files)} files, {formats.size(plan.bytes)}, {formats.size(plan.new_bytes)} of them new ({plan.how})."
    confirm("Go back to this savepoint?", says, "Resume from here", lambda: _resume(savepoint), details=f"{restore_plans.KEPT} {costs}")


def _resume(savepoint: Savepoint) -> None:
    waiting.resume(savepoint.job, ResumeRequest(savepoint.id))
    navigation.go("job", job=savepoint.job)


def verify(chosen: Sequence[Savepoint], level: Trust) -> None:
    """Begins to check them; how far it is, and what comes of it, is shown above."""
    if each(chosen, lambda one: operations.begin(session.workspace().start_verify(one.id, level))):
        st.rerun()


def each(chosen: Sequence[Savepoint], act: Callable[[Savepoint], object]) -> bool:
    """Does it to each; what fails is said, and keeps no other. Whether all are done."""
    failed = refusals(chosen, act)
    if failed and len(chosen) > 1:
        message_box(f"{len(chosen) - len(failed)} of {len(chosen)} are done", tone="blue")
    for refused in failed:
        error_box(refused)
    return not failed


def refusals(items: Sequence[T], act: Callable[[T], object]) -> list[TidemarkError]:
    """Does it to each; what fails keeps no other."""
    failed: list[TidemarkError] = []
    for one in items:
        try:
            act(one)
        except TidemarkError as error:
            failed.append(error)
    return failed
