"""The head of a job's page: name, state, version, and what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.health import health_chip
from dashboard.views import changes, decisions, edges
from dashboard.views.commands import Shown, commands
from dashboard.views.job import actions, failure, limits, query_names, rescale, resources, restarts, resume
from dashboard.views.live import live_switch
from dashboard.widgets import chip, entry, menu, page_header, when
from pipelines.domain.access import Role
from pipelines.domain.decisions import Choice
from pipelines.domain.experiments import decision_of
from pipelines.domain.ids import QueryName
from pipelines.domain.jobs import JobDetail
from pipelines.domain.runs import RunState
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.drop import Undrop
from pipelines.verbs.experiments import ListExperiments
from pipelines.verbs.forget import Forget
from pipelines.verbs.resume import Resume
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from pipelines.words import formats
from pipelines.words import savepoints as words


def draw(name: str, detail: JobDetail) -> bool:
    """Draws the head with its actions; whether the page is live."""
    run = detail.summary.run
    chips = [health_chip(detail.summary)]
    if run and not detail.summary.job.attached:
        link = navigation.href("job", job=name, tab="Versions")
        chips.append(f'<a class="tm-plain" href="{escape(link)}" target="_self">{chip(run.version, mono=True, hint="Its code")}</a>')
    if detail.summary.job.origin:
        origin = detail.summary.job.origin
        link = navigation.href("savepoints", savepoint=origin.savepoint)
        words = f"fork of {escape(origin.job)}"
        chips.append(f'<a class="tm-plain" href="{escape(link)}" target="_self"><span class="tm-chip blue">{words}</span></a>')
        chips.append(edges.mark(detail.runs[-1].edge if detail.runs else None))
    decided = decision_of(session.workspace().ask(ListExperiments()), name) if detail.summary.job.origin else None
    if decided:
        experiment, made = decided
        link = navigation.href("experiments", experiment=experiment.id)
        chips.append(f'<a class="tm-plain" href="{escape(link)}" target="_self">{decisions.badge(made)}</a>')
    with page_header(name, chips=chips):
        on = live_switch()
        _buttons(name, detail, decided is not None and decided[1].choice is Choice.DROPPED)
    return on


def streams(detail: JobDetail) -> bool:
    """Whether the job has streaming queries; one that is still starting may, one that is up or over without any has none."""
    begins = detail.summary.state in (None, RunState.WANTED, RunState.STARTING)
    return bool(detail.queries) or detail.summary.last_progress_ms is not None or begins


def _buttons(name: str, detail: JobDetail, dropped: bool) -> None:
    state, attached = detail.summary.state, detail.summary.job.attached
    running, goes_on = state is not None and state.live, state is not None and state.goes_on
    streaming = bool(detail.queries) or detail.summary.last_progress_ms is not None
    busy = changes.BUSY if changes.busy(name) else ""
    if streaming:
        type_: Literal["primary", "secondary"] = "primary" if running or attached else "secondary"
        permitted.button(
            "Savepoint",
            Role.OPERATOR,
            type=type_,
            icon=":material/bookmark_add:",
            key="take",
            on_click=actions.take,
            args=(name,),
            disabled=bool(busy),
            help=busy or None,
        )
        if permitted.button("Fork", Role.AUTHOR, icon=":material/call_split:", key="fork"):
            actions.ask_fork(name)
    begins = not running and not attached and state is not None
    if begins:
        back = failure.way_back(detail)
        label = f"Resume with {formats.short_id(back)}" if back else "Resume"
        if permitted.button(
            label,
            Role.OPERATOR,
            type="secondary" if failure.fails_again(detail) else "primary",
            icon=":material/play_arrow:",
            key="resume",
            disabled=bool(busy),
            help=busy or None,
        ):
            resume.ask_resume(name, detail, resume.PREVIOUS if back else resume.STOPPED)
    if goes_on and state is not RunState.STOPPING and permitted.button("Stop", Role.OPERATOR, icon=":material/stop_circle:", key="stop"):
        actions.ask_stop(name, streaming)
    _more(name, detail, goes_on, dropped)


def job_ended(detail: JobDetail) -> bool:
    """Whether no process of the job runs that could be resumed."""
    state = detail.summary.state
    return not detail.summary.job.attached and not (state is not None and state.live)


def _more(name: str, detail: JobDetail, running: bool, dropped: bool) -> None:
    job, run = detail.summary.job, detail.summary.run
    streaming = bool(detail.queries) or detail.summary.last_progress_ms is not None
    commands([*_commands(name, running, job.attached), *([Undrop(name)] if dropped else [])], key="commands_job")
    with menu("more"):
        if (
            run is not None
            and not job.attached
            and entry("Upgrade…", icon=":material/upgrade:", key="upgrade", of="more", role=Role.AUTHOR)
        ):
            navigation.go("upgrade", job=name)
        if streams(detail) and entry("Look into the state", icon=":material/database:", key="look_into_state", of="more"):
            navigation.go("state", job=name)
        if streaming and not job.attached and entry("Rescale…", icon=":material/stacks:", key="rescale", of="more", role=Role.OPERATOR):
            rescale.ask_rescale(name)
        queries = detail.queries if job.attached else ()
        if queries and entry("Rename a query…", icon=":material/edit:", key="rename", of="more", role=Role.OPERATOR):
            query_names.ask_rename(name, [QueryName(query.query) for query in queries])
        if streams(detail) and entry("Limits…", icon=":material/notifications:", key="limits", of="more", role=Role.OPERATOR):
            limits.ask_limits(name)
        if not job.attached and entry("Memory…", icon=":material/memory:", key="resources", of="more", role=Role.OPERATOR):
            resources.ask_resources(name)
        asks = streams(detail) and not job.attached
        if asks and entry("Restarts…", icon=":material/restart_alt:", key="restart_strategy_ask", of="more", role=Role.OPERATOR):
            restarts.ask_strategy(name)
        if dropped and entry("Undrop", icon=":material/undo:", key="undrop", of="more", help=decisions.UNDROPS, role=Role.OPERATOR):
            decisions.undrop(name)
        if running:
            if entry("Cancel at once…", icon=":material/cancel:", key="cancel", of="more", role=Role.OPERATOR):
                actions.ask_cancel(name)
        elif entry("Forget this job…", icon=":material/delete:", key="forget", of="more", role=Role.AUTHOR):
            actions.ask_forget(detail)


def _commands(name: str, running: bool, attached: bool) -> Sequence[Shown]:
    if running:
        return (Take(name), Stop(name), ("Cancel at once", Stop(name, at_once=True)))
    return (Take(name), *(() if attached else (Resume(name),)), Diagnose(name), Forget(name))


def line(detail: JobDetail, now: float) -> None:
    """The facts of the newest run that change with every refresh."""
    run = detail.summary.run
    if run is None:
        return
    parts = [f'run <span class="tm-mono">{escape(run.id)}</span>']
    if detail.summary.job.attached:
        parts = [f"watched since {formats.exact(detail.summary.job.created_ms, session.zone())}"]
    elif run.state.live and run.started_ms:
        parts.append(f"up {formats.duration(now - run.started_ms)}")
    elif run.ended_ms:
        parts.append(f"ended {when(run.ended_ms, now)}")
    if run.spark_version:
        parts.append(f"Spark {escape(run.spark_version)}")
    if run.ui_url and run.state.live:
        parts.append(f'<a href="{escape(run.ui_url)}" target="_blank" rel="noopener">Spark UI ↗</a>')
    if detail.summary.batch is not None:
        batches = words.batches(detail.batches) or f"{detail.summary.batch:,}"
        parts.append(f"batch {escape(batches)}, {when(detail.summary.last_progress_ms, now)}")
    if detail.summary.last_savepoint_ms is not None:
        parts.append(f"{formats.plural(detail.summary.savepoints, 'savepoint')}, the last {when(detail.summary.last_savepoint_ms, now)}")
    if detail.summary.restarts:
        parts.append(formats.plural(detail.summary.restarts, "restart"))
    st.html(f'<div class="tm-line">{"".join(f"<span>{part}</span>" for part in parts)}</div>')
