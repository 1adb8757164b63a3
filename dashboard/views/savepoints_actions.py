"""What can be done with savepoints: go back to one, check them, dispose of them. Each asks the workspace first what it would do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import formats, navigation, session
from dashboard.widgets import chip, confirm, error_box, errors_shown, message_box
from pipelines.domain.errors import NotFound, TidemarkError
from pipelines.domain.requests import ResumeRequest
from pipelines.domain.savepoints import DisposePlan, RestorePlan, Savepoint, Trust, Verification

LEVELS = {Trust.COMPLETE: "Files and sizes", Trust.INTACT: "Checksums of all files"}
_OUTCOMES = "verifications"


def why_not_resumed(savepoint: Savepoint) -> str:
    """Why its job cannot go back to it now; empty where it can."""
    if savepoint.damaged_files:
        return "It is damaged: the last verification found files missing or changed."
    try:
        state = session.workspace().job(savepoint.job).summary.state
    except NotFound:
        return f"Job {savepoint.job} was removed; fork the savepoint instead."
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
    except TidemarkError as error:
        error_box(error)
        return
    blockers = [blocker for plan in plans for blocker in plan.blockers]
    if blockers:
        message_box("It is still needed", "\n".join(blockers), tone="orange")
        return
    confirm(
        "Dispose of this savepoint?" if len(plans) == 1 else f"Dispose of {len(plans)} savepoints?",
        _disposal(chosen, plans),
        "Dispose",
        lambda: _dispose(chosen),
        details="Jobs that were forked from here go on: they have files of their own. This cannot be undone.",
    )


def _disposal(chosen: Sequence[Savepoint], plans: Sequence[DisposePlan]) -> str:
    files, size, frees = (sum(getattr(plan, name) for plan in plans) for name in ("files", "bytes", "frees_bytes"))
    names = "\n".join(f"- `{one.id}` · {one.job} · batch {one.batch:,}{_labelled(one)}" for one in chosen[:8])
    more = f"\n- and {len(chosen) - 8} more" if len(chosen) > 8 else ""
    return (
        f"{names}{more}\n\nDeletes **{formats.plural(files, 'file')}** of {formats.size(size)} and frees **{formats.size(frees)}**; "
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
    """Checks them and keeps the outcomes for `outcome` to show."""
    with st.spinner(f"Verifying {formats.plural(len(chosen), 'savepoint')}: {LEVELS[level].lower()}", show_time=True), errors_shown():
        for one in chosen:
            st.session_state.setdefault(_OUTCOMES, {})[one.id] = session.workspace().verify(one.id, level)


def outcome(savepoint: Savepoint) -> None:
    """Shows how the verification that this browser asked for came out."""
    found: Verification | None = st.session_state.get(_OUTCOMES, {}).get(savepoint.id)
    if found is None:
        return
    if found.damages:
        message_box(f"{formats.plural(len(found.damages), 'file')} of {savepoint.id} not as they should be", tag="damaged")
        damages = {
            "File": [one.path for one in found.damages],
            "Kind": [one.kind for one in found.damages],
            "What": [one.message for one in found.damages],
        }
        st.dataframe(damages, hide_index=True)
        return
    sealed = " Its checksums were computed just now, for the next time." if found.sealed_ms == found.at_ms else ""
    said = f"{formats.plural(found.files, 'file')}, {formats.size(found.bytes)}.{sealed}"
    message_box(f"Verified: {found.reached}", said, tone="green")


def bulk(chosen: Sequence[Savepoint]) -> None:
    """What can be done with several at once."""
    held, own = sum(one.bytes for one in chosen), sum(one.new_bytes for one in chosen)
    with st.container(border=True, key="card_bulk"):
        with st.container(horizontal=True, vertical_alignment="center"):
            names = "".join(chip(formats.short_id(one.id), mono=True, hint=f"{one.job}, batch {one.batch:,}") for one in chosen[:6])
            said = escape(f"{formats.size(held)} held, {formats.size(own)} of their own")
            st.html(
                f'<div class="tm-head"><strong>{len(chosen)} savepoints</strong>{names}<span class="tm-caption">{said}</span></div>',
                width="stretch",
            )
            if len(chosen) == 2 and st.button("Compare", icon=":material/compare_arrows:", key="bulk_compare"):
                navigation.go("versions", savepoint=chosen[0].id, **{"with": chosen[1].id})
            if st.button("Verify", icon=":material/verified:", key="bulk_verify"):
                verify(chosen, Trust.INTACT)
            if st.button("Dispose…", icon=":material/delete:", key="bulk_dispose"):
                ask_dispose(chosen)
        for one in chosen:
            outcome(one)
