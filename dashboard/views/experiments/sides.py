"""A and B as cards: their state, figures and actions; and the difference of their code."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import navigation, session
from dashboard.components.code_editor import code_editor
from dashboard.health import health_chip
from dashboard.views import decisions
from dashboard.views.experiments.shares import Pair
from dashboard.views.job import actions
from dashboard.widgets import chip, facts, message_box, when
from pipelines.domain.decisions import Choice, Decision
from pipelines.domain.errors import NotFound
from pipelines.domain.experiments import Experiment
from pipelines.domain.findings import Problem
from pipelines.domain.jobs import JobDetail
from pipelines.domain.texts import changed_lines
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.jobs import ShowJob
from pipelines.words import formats

STOP, CANCEL, AGAIN, FORGET, OPEN = "Stop…", "Cancel at once…", "Fork again", "Forget…", "Open the job"
PROMOTE, DROP, UNDROP = "Promote…", "Drop", "Undrop"


def detail_of(job: str) -> JobDetail | None:
    """The job, None where it was forgotten."""
    try:
        return session.workspace().ask(ShowJob(job))
    except NotFound:
        return None


def card(side: str, job: str, experiment: Experiment | None = None) -> None:
    """One side's card with its actions."""
    detail, made = detail_of(job), experiment.decided(job) if experiment else None
    with st.container(border=True, key=f"card_side_{side.lower()}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(_title(side, job, detail, made), width="stretch")
            if detail:
                _act(detail, st.menu_button("Actions", _actions(detail, made), key=f"side_{side}"))
        if detail is None:
            message_box("This job was forgotten", "Its savepoints are still there.", tone="orange")
            return
        facts(_facts(detail))
        for failure in (finding for finding in detail.summary.findings if finding.problem is Problem.FAILED):
            message_box("Why it failed", failure.words, tag=failure.code)


def _title(side: str, job: str, detail: JobDetail | None, made: Decision | None) -> str:
    mark = f'<span class="tm-side {side.lower()}">{side}</span>'
    state, badge = health_chip(detail.summary) if detail else "", decisions.badge(made) if made else ""
    link = f'<a href="{navigation.href("job", job=job)}" target="_self"><strong>{escape(job)}</strong></a>'
    return f'<div class="tm-head">{mark}{link}{state}{badge}</div>'


def _facts(detail: JobDetail) -> list[tuple[str, str]]:
    summary, run = detail.summary, detail.summary.run
    batch = f"{formats.count(summary.batch)} · {when(summary.last_progress_ms, session.now_ms())}"
    times = f"{formats.duration(summary.batch_ms_p50)} / {formats.duration(summary.batch_ms_p99)}"
    return [
        ("Version", f'<span class="tm-mono">{run.version if run else formats.MISSING}</span>'),
        ("Batch", formats.MISSING if summary.batch is None else batch),
        ("Batch p50 / p99", formats.MISSING if summary.batch_ms_p50 is None else times),
        ("Input", formats.rate(summary.input_rate)),
        ("Watermark", formats.exact(summary.watermark_ms, session.zone())),
        ("State", formats.MISSING if summary.state_rows is None else f"{formats.compact(summary.state_rows)} rows"),
    ]


def _actions(detail: JobDetail, made: Decision | None) -> list[str]:
    live = detail.summary.state is not None and detail.summary.state.live
    again = [AGAIN] if detail.summary.job.origin else []
    promotes = [] if decisions.unpromoted(detail.summary) else [PROMOTE]
    decides = [*promotes, DROP] if detail.summary.job.origin and made is None else []
    decides = [UNDROP] if made and made.choice is Choice.DROPPED else decides
    return [OPEN, *decides, *([STOP, CANCEL] if live else []), *again, *([] if live else [FORGET])]


def _act(detail: JobDetail, action: str | None) -> None:
    job = detail.summary.job
    if action == OPEN:
        navigation.go("job", job=job.name)
    elif action == AGAIN and job.origin:
        navigation.go("fork", savepoint=job.origin.savepoint)
    elif action == PROMOTE:
        decisions.ask_promote(job.name)
    elif action == DROP:
        decisions.drop(job.name)
    elif action == UNDROP:
        decisions.undrop(job.name)
    elif action == STOP:
        actions.ask_stop(job.name, streaming=True)
    elif action == CANCEL:
        actions.ask_cancel(job.name)
    elif action == FORGET:
        actions.ask_forget(detail)


def code(pair: Pair) -> None:
    """The difference of B's code from A's."""
    runs = [detail.summary.run for detail in (detail_of(pair.a), detail_of(pair.b)) if detail]
    if len(runs) < 2 or not all(runs):
        return
    first, second = (session.workspace().ask(ShowVersion(run.version)) for run in runs if run)
    added, removed = changed_lines(first.code, second.code)
    with st.container(border=True, key="card_code"):
        lines = chip(f"+{added}", "green", mono=True) + chip(f"−{removed}", "red", mono=True)
        chips = lines if added or removed else chip("same code")
        settings = _settings(first.args == second.args, first.conf == second.conf)
        st.html(f'<div class="tm-head"><h2 class="tm-h2">Code, A → B</h2>{chips}{settings}</div>')
        if added or removed:
            code_editor(
                second.code,
                key=f"experiment_code_{first.id}_{second.id}",
                original=first.code,
                mode="split",
                readonly=True,
                collapse=True,
                height=400,
                label="The code of A and of B",
                script=second.script,
            )


def _settings(same_args: bool, same_conf: bool) -> str:
    other = [name for name, same in (("arguments", same_args), ("confs", same_conf)) if not same]
    return chip(f"other {' and '.join(other)}", "orange") if other else chip("same arguments and confs")
