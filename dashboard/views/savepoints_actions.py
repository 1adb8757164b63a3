"""What can be done with savepoints: go back to one, check them, dispose of them. Each asks the workspace first what it would do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import formats, navigation, session
from dashboard.views import operations
from dashboard.widgets import chip, confirm, error_box, errors_shown, message_box
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.requests import ResumeRequest
from pipelines.domain.savepoints import DisposePlan, RestorePlan, Savepoint
from pipelines.domain.space import Space
from pipelines.domain.trust import Trust

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
    details = f"{formats.count(plan.files)} files, {formats.size(plan.bytes)}, {formats.size(plan.new_bytes)} of them new ({plan.how})."
    confirm("Go back to this savepoint?", says, "Resume from here", lambda: _resume(savepoint), details=details)


def _resume(savepoint: Savepoint) -> None:
    session.workspace().resume(savepoint.job, ResumeRequest(savepoint.id))
    navigation.go("job", job=savepoint.job)


def ask_dispose(chosen: Sequence[Savepoint]) -> None:
    """Says what would be deleted and what that frees, and asks once; what somebody still needs is said instead."""
    try:
        plans = [session.workspace().dispose(one.id, dry_run=True) for one in chosen]
        frees = freed(chosen, plans)
    except TidemarkError as error:
        error_box(error)
        return
    blockers = [blocker for plan in plans for blocker in plan.blockers]
    if blockers:
        message_box("It is still needed", "\n".join(blockers), tone="orange")
        return
    confirm(
        "Dispose of this savepoint?" if len(plans) == 1 else f"Dispose of {len(plans)} savepoints?",
        _disposal(chosen, plans, frees),
        "Dispose",
        lambda: _dispose(chosen),
        details="Jobs that were forked from here go on: they have files of their own. This cannot be undone.",
    )


def freed(chosen: Sequence[Savepoint], plans: Sequence[DisposePlan]) -> str:
    """What disposing of them frees, in words. Files that only they share among themselves are freed too, but counted by no single
    plan: the sum is the least, except where they are all that there is."""
    if len(plans) == 1:
        return formats.size(plans[0].frees_bytes)
    space = session.space()
    if {one.savepoint for one in space.savepoints} <= {one.id for one in chosen}:
        return formats.size(space.frees_bytes)
    return f"at least {formats.size(sum(plan.frees_bytes for plan in plans))}"


def _disposal(chosen: Sequence[Savepoint], plans: Sequence[DisposePlan], frees: str) -> str:
    files, size = sum(plan.files for plan in plans), sum(plan.bytes for plan in plans)
    names = "\n".join(f"- `{one.id}` · {one.job} · batch {one.batch:,}{_labelled(one)}" for one in chosen[:8])
    more = f"\n- and {len(chosen) - 8} more" if len(chosen) > 8 else ""
    return (
        f"{names}{more}\n\nDeletes **{formats.plural(files, 'file')}** of {formats.size(size)} and frees **{frees}**; "
        "the rest is shared with checkpoints and other savepoints."
    )


def _labelled(one: Savepoint) -> str:
    """Its label as plain words: what people typed is no markdown."""
    return " · " + re.sub(r"([\\`*_{}\[\]()#+.!|<>$~:-])", r"\\\1", one.label) if one.label else ""


def _dispose(chosen: Sequence[Savepoint]) -> None:
    for one in chosen:
        session.workspace().dispose(one.id)
    session.select(savepoint="")


def verify(chosen: Sequence[Savepoint], level: Trust) -> None:
    """Begins to check them; how far it is, and what comes of it, is shown above."""
    with errors_shown():
        for one in chosen:
            operations.begin(session.workspace().start_verify(one.id, level))
        st.rerun()


def bulk(chosen: Sequence[Savepoint]) -> None:
    """What can be done with several at once."""
    with st.container(border=True, key="card_bulk"), st.container(horizontal=True, vertical_alignment="center"):
        names = "".join(chip(formats.short_id(one.id), mono=True, hint=f"{one.job}, batch {one.batch:,}") for one in chosen[:6])
        words = escape(_held(chosen, session.space()))
        st.html(
            f'<div class="tm-head"><strong>{len(chosen)} savepoints</strong>{names}<span class="tm-caption">{words}</span></div>',
            width="stretch",
        )
        if len(chosen) == 2 and st.button("Compare", icon=":material/compare_arrows:", key="bulk_compare"):
            navigation.go("versions", savepoint=chosen[0].id, **{"with": chosen[1].id})
        if st.button("Verify", icon=":material/verified:", key="bulk_verify", help="Checksums of all files"):
            verify(chosen, Trust.INTACT)
        if st.button("Prove", icon=":material/science:", key="bulk_prove", help=PROVES):
            verify(chosen, Trust.PROVED)
        if st.button("Dispose…", icon=":material/delete:", key="bulk_dispose"):
            ask_dispose(chosen)


def _held(chosen: Sequence[Savepoint], space: Space) -> str:
    ids = {one.id for one in chosen}
    each = [one for one in space.savepoints if one.savepoint in ids]
    held, frees = sum(one.bytes for one in each), sum(one.frees_bytes for one in each)
    return f"{formats.size(held)} held; disposing of them frees at least {formats.size(frees)}"
