"""What needs attention in this job: what, since when, why, and the page that shows more."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import navigation
from dashboard.health import URGENCY_TONES
from dashboard.widgets import chip, when
from pipelines.domain.findings import Finding, Problem
from pipelines.domain.jobs import JobDetail, JobSummary

LEADS = {
    Problem.NOT_UP: ("Logs", "Read the log"),
    Problem.NO_PROGRESS: ("Logs", "Read the log"),
    Problem.WAITING: ("Configuration", "See its restarts"),
    Problem.RESTARTING: ("Events", "See its events"),
    Problem.LAGGING: ("Batches", "See its batches"),
    Problem.CATCHING_UP: ("Batches", "See its batches"),
    Problem.FALLING_BEHIND: ("Batches", "See its batches"),
    Problem.GROWING: ("State", "See its state"),
    Problem.UNSAVED: ("Savepoints", "See its savepoints"),
    Problem.SCHEDULE: ("Savepoints", "See its savepoints"),
    Problem.UNPROVED: ("Savepoints", "See its savepoints"),
    Problem.UNUSABLE: ("Savepoints", "See its savepoints"),
    Problem.UNBEGUN: ("Events", "See its events"),
    Problem.ALERT: ("Alerts", "See its alerts"),
}
"""Problem -> the tab that shows more, and what its link is called. A failure has a box of its own."""


def draw(detail: JobDetail, now: float) -> None:
    """A line for each finding but a failure; nothing where there is none."""
    lines = [_line(detail.summary, finding, now) for finding in detail.summary.findings if finding.problem in LEADS]
    if lines:
        with st.container(border=True, key="card_findings", gap=None):
            st.html("".join(lines))


def _line(job: JobSummary, finding: Finding, now: float) -> str:
    tab, title = LEADS[finding.problem]
    if job.job.attached and tab == "Logs":
        tab, title = "Batches", "See its batches"
    since = f'<span class="tm-when">{when(finding.since_ms, now)}</span>' if finding.since_ms else ""
    link = f'<a href="{escape(navigation.href("job", job=job.job.name, tab=tab))}" target="_self">{title}</a>'
    badge = chip(finding.title.capitalize(), URGENCY_TONES[finding.urgency], dot=True)
    return f'<div class="tm-attention" role="status">{badge}{since}<span class="tm-words">{escape(finding.words)}</span>{link}</div>'
