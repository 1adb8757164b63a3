"""A job that runs elsewhere: where its checkpoints are, what can be known of it from outside, and what cannot."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.health import health_chip
from dashboard.views.job import actions
from dashboard.widgets import chip, empty_state, page_header
from pipelines.domain.access import Role
from pipelines.domain.jobs import JobDetail
from pipelines.verbs.experiments import ShowVersion

KNOWN = (
    "Known from its checkpoint alone: batches and how long they took, offsets, watermark, sizes. Not known here: its log, rows, "
    "whether its process lives. It is stopped and started where it runs; savepoints and forks work as on any other job."
)

ELSEWHERE = (
    "It is only watched here, so its code is changed where it runs: stop it there, and start it there with the new code. To try the new "
    "code first, fork it: the fork runs here, from this job's state, and the job itself does not notice."
)


def draw(detail: JobDetail) -> None:
    """The box for a job that runs elsewhere; nothing for a job of this workspace."""
    if not detail.summary.job.attached:
        return
    places = "".join(
        f'<tr><td>{escape(query.query)}</td><td class="tm-mono">{escape(query.checkpoint)}</td>'
        f"<td>{_sink(query.sink, query.sink_path)}</td></tr>"
        for query in detail.queries
    )
    table = (
        f'<table class="tm-findings"><thead><tr><th>Query</th><th>Checkpoint</th><th>Sink</th></tr></thead><tbody>{places}</tbody></table>'
    )
    with st.container(border=True, key="card_watched", gap="small"):
        st.html(f'<div class="tm-section"><h2>Watched from outside</h2></div><p class="tm-hint">{KNOWN}</p>{_code(detail)}{table}')


def instead_of_upgrade(name: str, detail: JobDetail) -> bool:
    """Draws what can be done instead with a job that is only watched; whether it is."""
    if not detail.summary.job.attached:
        return False
    with page_header(f"Upgrade {name}", chips=[health_chip(detail.summary)]):
        pass
    with empty_state(f"{name} runs elsewhere", ELSEWHERE, key="upgrade_elsewhere"), st.container(horizontal=True, width="content"):
        if permitted.button("Fork…", Role.AUTHOR, type="primary", icon=":material/call_split:", key="fork"):
            actions.ask_fork(name)
        if st.button("Back to the job", key="upgrade_back"):
            navigation.go("job", job=name)
    return True


def _sink(sink: str, path: str) -> str:
    if not sink and not path:
        return '<span class="tm-muted">not known</span>'
    return f'{chip(sink, mono=True) if sink else ""} <span class="tm-mono">{escape(path)}</span>'


def _code(detail: JobDetail) -> str:
    run = detail.summary.run
    if run is None or session.workspace().ask(ShowVersion(run.version)).code:
        return ""
    return '<p class="tm-hint">Its code is not known here: a fork brings its own.</p>'
