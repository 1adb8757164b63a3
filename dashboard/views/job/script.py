"""A job without streaming queries: a script that Tidemark keeps, or one that failed before it started any, with its log."""

from __future__ import annotations

import shlex

import streamlit as st

from dashboard import session
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views.job import logs
from dashboard.widgets import message_box, section
from pipelines.domain.jobs import JobDetail
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.jobs import ReadLog
from pipelines.words import formats

TAIL_BYTES = 12_000
NO_QUERY = (
    "So there are no batches to chart, no state, and nothing to take a savepoint of. Tidemark keeps it running, its code and its log."
)


def draw(name: str, detail: JobDetail, now: float) -> None:
    """Its uptime, the end of its log, and why there are no charts."""
    run = detail.summary.run
    chunk = session.workspace().ask(ReadLog(name, offset=-TAIL_BYTES))
    begun = run.started_ms if run else None
    ended = (run.ended_ms if run else None) or now
    key_figures(
        [
            KeyFigure("Runs for", formats.duration(ended - begun) if begun else formats.MISSING, note=_state(detail)),
            KeyFigure("Process", str(run.pid) if run and run.pid else formats.MISSING, note="of the driver"),
            KeyFigure("Restarts", f"{detail.summary.restarts:,}", note=f"{formats.plural(len(detail.runs), 'run')} in all"),
            KeyFigure("Log", formats.size(chunk.size), note="written so far"),
        ],
        min_width=200,
    )
    if run:
        version = session.workspace().ask(ShowVersion(run.version))
        section("What runs", f"on {version.master}")
        st.code(shlex.join([version.script, *version.args]), language="bash", wrap_lines=True)
    if not (detail.summary.state is not None and detail.summary.state.has_failed):
        message_box("This script starts no streaming query", NO_QUERY, tone="blue")
    section("End of its log")
    if chunk.text:
        logs.box(chunk.text, height=320, wrap=True)
    else:
        st.html('<div class="tm-quiet">The script has written nothing to its log.</div>')


def _state(detail: JobDetail) -> str:
    run = detail.summary.run
    if run is None:
        return "never ran"
    return "and runs on" if run.state.live else f"{run.exit.reason if run.exit else run.state.value}"
