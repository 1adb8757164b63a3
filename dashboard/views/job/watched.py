"""A job that runs elsewhere: where its checkpoints are, what can be known of it from outside, and what cannot."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import session
from dashboard.widgets import chip
from pipelines.domain.jobs import JobDetail
from pipelines.verbs.experiments import ShowVersion

KNOWN = (
    "Known from its checkpoint alone: batches and how long they took, offsets, watermark, sizes. Not known here: its log, rows, "
    "whether its process lives. It is stopped and started where it runs; savepoints and forks work as on any other job."
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


def _sink(sink: str, path: str) -> str:
    if not sink and not path:
        return '<span class="tm-muted">not known</span>'
    return f'{chip(sink, mono=True) if sink else ""} <span class="tm-mono">{escape(path)}</span>'


def _code(detail: JobDetail) -> str:
    run = detail.summary.run
    if run is None or session.workspace().ask(ShowVersion(run.version)).code:
        return ""
    return '<p class="tm-hint">Its code is not known here: a fork brings its own.</p>'
