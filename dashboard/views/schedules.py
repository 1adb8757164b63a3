"""When savepoints are taken by themselves: a line on a job's tab, and the dialogs that set it, for one or for all, and that prune."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from dashboard import permitted, session
from dashboard.dialogs import dialog
from dashboard.views.endings import ending
from dashboard.widgets import error_box, errors_shown, plain_facts, when
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.moments import duration_ms, spelt_duration
from pipelines.domain.retention import Judged
from pipelines.domain.schedules import MOST_CPUS, NONE, OFF, PROOF_CPUS, USUAL, UTC, Schedule, ScheduleState
from pipelines.verbs.prune import Prune
from pipelines.verbs.schedule import SetSchedule, ShowSchedule
from pipelines.words import formats, plans
from pipelines.words import schedules as words

SAYS = "An empty field: as the workspace's. Forks of this job begin with its schedule. Only savepoints taken by schedule are pruned."
SAYS_OF_ALL = "Holds for every job without a schedule of its own. Only savepoints taken by schedule are pruned."
AS_USUAL, EVERY, CRON, NEVER = "As the workspace", "Every", "By cron", "Never"
NOTHING_GOES = "Nothing to prune: every scheduled savepoint is among those that are kept, or has a reason to stay."
MOST_LINES = 8
BETWEEN = ";"
"""Between two blackout windows, which have commas between days."""


def draw(job: str, now: float) -> None:
    """`Every hour, next at 14:00; keeps 24`, what came of the last time, and the button that changes it."""
    state = session.workspace().ask(ShowSchedule(job))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="schedule_line"):
        parts = [f"By schedule: {escape(words.line(state, session.zone()))}"]
        if state.last is not None:
            parts.append(f"last time {when(state.last.due_ms, now)}: {escape(words.attempt(state.last))}")
        if state.next_proof_ms is not None:
            parts.append(f"next proof at {formats.exact(state.next_proof_ms, session.zone())}")
        if state.last_proof is not None:
            parts.append(f"last proof {when(state.last_proof.due_ms, now)}: {escape(words.proof(state.last_proof))}")
        if state.next_run_ms is not None:
            parts.append(f"next run at {formats.exact(state.next_run_ms, session.zone())}")
        if state.last_run is not None:
            parts.append(f"last run {when(state.last_run.due_ms, now)}: {escape(words.run(state.last_run))}")
        st.html(f'<div class="tm-line">{"".join(f"<span>{part}</span>" for part in parts)}</div>', width="stretch")
        if permitted.button("Schedule…", Role.OPERATOR, icon=":material/schedule:", type="tertiary", key="schedule"):
            ask_schedule(job)
        if permitted.button("Prune…", Role.OPERATOR, icon=":material/auto_delete:", type="tertiary", key="prune"):
            ask_prune(job)


def ask_schedule(job: str) -> None:
    """Asks for the schedule of the job, or (without one) of the workspace."""

    @dialog(f"Set schedule of {job or 'every job'}")
    def ask() -> None:
        with errors_shown():
            state = session.workspace().ask(ShowSchedule(job))
            state = state if job else replace(state, usual=Schedule())
            times, kept = _times(state), {**_kept(state), **_proofs(state), "run_at": _runs(state)}
            st.caption(SAYS if job else SAYS_OF_ALL)
            change = _change(job, state.own, times, kept)
            ending(change, "Set schedule", "schedule")

    ask()


def ask_prune(job: str) -> None:
    """Shows what is past what is kept, why, and what it frees; and asks whether it shall go."""

    @dialog(f"Prune savepoints of {job}")
    def ask() -> None:
        with errors_shown():
            change = Prune(job)
            plan = session.workspace().plan(change)
            st.write(f"{plans.disposed(plan.disposal)}." if plan.goes else NOTHING_GOES)
            lines = [(_taken(judged), words.why(judged)) for judged in (*plan.goes, *plan.stays)]
            plain_facts(lines[:MOST_LINES])
            if len(lines) > MOST_LINES:
                st.caption(f"and {len(lines) - MOST_LINES:,} more")
            ending(change, "Prune", "prune", ready=bool(plan.goes), danger=True)

    ask()


def _plain_caption(text: str) -> None:
    """A caption without Markdown: a cron expression has asterisks."""
    st.html(f'<span class="tm-caption">{escape(text)}</span>')


def _taken(judged: Judged) -> str:
    return f"{formats.ago(judged.created_ms, session.now_ms())}, {formats.short_id(judged.savepoint)}"


def _times(state: ScheduleState) -> dict[str, str]:
    """What is typed of the times: how, the interval or the expression, the zone, the windows."""
    own, usual = state.own, state.usual
    before = _choice(own) if state.job or own.times else NEVER
    choices = (*((AS_USUAL,) if state.job else ()), EVERY, CRON, NEVER)
    how = st.segmented_control("Taken", choices, default=before, required=True, key="schedule_how") or before
    typed = {"before": before, "how": how, "every": "", "cron": ""}
    if how == AS_USUAL:
        _plain_caption(f"The workspace's: {words.times(usual.times)}")
    elif how == EVERY:
        value = spelt_duration(own.times.every_ms) if own.times and own.times.every_ms else "1h"
        typed["every"] = st.text_input("Every", value, key="schedule_every", help="Such as 30m, 6h or 1d; at least 10s") or ""
    elif how == CRON:
        value = own.times.cron if own.times and own.times.cron else "0 * * * *"
        typed["cron"] = st.text_input("Cron", value, key="schedule_cron", help="Minute, hour, day, month, weekday: 0 * * * *") or ""
    if how != NEVER:
        zone = f"{usual.zone or UTC}, as usual"
        typed["zone"] = st.text_input("Time zone", own.zone or "", key="schedule_zone", placeholder=zone) or ""
        windows = f"{f'{BETWEEN} '.join(usual.blackouts or ()) or 'none'}, as usual"
        text = NONE if own.blackouts == () else f"{BETWEEN} ".join(own.blackouts or ())
        hint = "No savepoint is taken then: 22:00-06:00; Mon-Fri 08:00-10:00. To have none, write none"
        typed["blackouts"] = st.text_input("Blackout windows", text, key="schedule_blackouts", placeholder=windows, help=hint) or ""
    return typed


def _kept(state: ScheduleState) -> dict[str, Any]:
    """What is typed of what is kept."""
    own, usual = state.own, state.usual
    if state.job and st.checkbox("Keep all", own.keep_all, key="schedule_keep_all", help="Whatever the workspace keeps: nothing is pruned"):
        return {"all": True, "keep": None, "age": "", "bytes": None}
    number = f"{usual.keep:,}, as usual" if usual.keep else "all, as usual"
    keep = st.number_input("Keep at most", 1, value=own.keep, step=1, key="schedule_keep", placeholder=number)
    time = f"{spelt_duration(usual.keep_ms)}, as usual" if usual.keep_ms else "any age, as usual"
    value = spelt_duration(own.keep_ms) if own.keep_ms else ""
    age = st.text_input("Keep for", value, key="schedule_keep_ms", placeholder=time, help="Such as 12h, 7d or 90d") or ""
    amount = f"{usual.keep_bytes:,}, as usual" if usual.keep_bytes else "any, as usual"
    size = st.number_input("Keep at most, in bytes", 1, value=own.keep_bytes, step=1, key="schedule_keep_bytes", placeholder=amount)
    return {"all": False, "keep": keep, "age": age, "bytes": size}


def _proofs(state: ScheduleState) -> dict[str, Any]:
    """What is typed of the proofs: a cron expression, `off`, or nothing for the workspace's; and their limits."""
    own, usual = state.own, state.usual
    hint = "Cron expression: 0 3 * * * is every night at three. The newest scheduled savepoint is proved then, if it is not yet. Never: off"
    text, never = OFF if own.prove_at == "" else own.prove_at or "", f"{usual.prove_at or 'never'}, as usual"
    at = st.text_input("Prove the newest at", text, key="schedule_prove_at", placeholder=never, help=hint) or ""
    value = spelt_duration(own.proof_limit_ms) if own.proof_limit_ms else ""
    time = f"{spelt_duration(usual.proof_limit_ms) if usual.proof_limit_ms else '30m'}, as usual"
    limit = st.text_input("A proof takes at most", value, key="schedule_proof_limit", placeholder=time, help="Such as 30m or 2h") or ""
    number = f"{usual.proof_cpus or PROOF_CPUS}, as usual"
    cpus = st.number_input("Processors of a proof", 1, MOST_CPUS, own.proof_cpus, step=1, key="schedule_proof_cpus", placeholder=number)
    return {"prove_at": at, "limit": limit, "cpus": cpus}


def _runs(state: ScheduleState) -> str:
    """What is typed of the times at which the job begins again; nothing for never. Only a job has them."""
    if not state.job:
        return ""
    hint = "Cron expression: 0 * * * * is every hour. For a job that ends by itself, such as with the trigger availableNow"
    return st.text_input("Begin the job again at", state.own.run_at or "", key="schedule_run_at", placeholder="never", help=hint) or ""


def _choice(own: Schedule) -> str:
    if own.times is None:
        return AS_USUAL
    return NEVER if not own.times else EVERY if own.times.every_ms else CRON


def _change(job: str, own: Schedule, times: dict[str, str], kept: dict[str, Any]) -> SetSchedule | None:
    """What differs from the schedule as it is; None where nothing does, or where it is refused, which is said."""
    try:
        given = _times_given(own, times) | _kept_given(own, kept)
        change = SetSchedule(job, **given)
        if given:
            plan = session.workspace().plan(change)
            _plain_caption(f"Then: {words.line(ScheduleState(plan.job, plan.after, own, plan.schedule, plan.next_ms), session.zone())}")
            for warning in plan.warnings:
                _plain_caption(f"Beware: {warning}.")
    except TidemarkError as error:
        error_box(error)
        return None
    return change if given else None


def _times_given(own: Schedule, typed: dict[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    how, cron, every = typed["how"], " ".join(typed["cron"].split()), duration_ms(typed["every"]) if typed["how"] == EVERY else 0
    if how == AS_USUAL and own.times is not None:
        given["every_ms"] = 0
    elif how == NEVER and typed["before"] != NEVER:
        given["off"] = True
    elif how == EVERY and (own.times is None or own.times.every_ms != every):
        given["every_ms"] = every
    elif how == CRON and cron and (own.times is None or own.times.cron != cron):
        given["cron"] = cron
    zone, windows = typed.get("zone", own.zone or "").strip(), typed.get("blackouts")
    if zone != (own.zone or ""):
        given["zone"] = zone or USUAL
    parts = () if windows is None else tuple(part.strip() for part in windows.split(BETWEEN) if part.strip())
    before = (NONE,) if own.blackouts == () else own.blackouts or ()
    if windows is not None and parts != before:
        given["blackouts"] = parts or (USUAL,)
    return given


def _kept_given(own: Schedule, typed: dict[str, Any]) -> dict[str, Any]:
    values = {
        "keep": typed["keep"] or 0,
        "keep_ms": duration_ms(typed["age"]) if typed["age"].strip() else 0,
        "keep_bytes": typed["bytes"] or 0,
        "proof_limit_ms": duration_ms(typed["limit"]) if typed["limit"].strip() else 0,
        "proof_cpus": typed["cpus"] or 0,
    }
    given: dict[str, Any] = {name: value for name, value in values.items() if value != (getattr(own, name) or 0)}
    if typed["all"] != own.keep_all:
        given = {"keep_all": True} if typed["all"] else given or {"keep": 0}
    proves = " ".join(typed["prove_at"].split())
    if proves != (OFF if own.prove_at == "" else own.prove_at or ""):
        given["prove_at"] = proves or USUAL
    runs = " ".join(typed["run_at"].split())
    if runs != (own.run_at or ""):
        given["run_at"] = runs or OFF
    return given
