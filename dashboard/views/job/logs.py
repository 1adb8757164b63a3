"""The driver's log: its end, as it grows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

import streamlit as st

from dashboard import session
from dashboard.widgets import command, empty_state
from pipelines.domain.ids import RunId
from pipelines.domain.jobs import JobDetail, LogChunk
from pipelines.verbs.jobs import ReadLog
from pipelines.words import formats

TAIL_BYTES = 60_000
PIECE = 4_000_000
_BAR = re.compile(r"\s*\[Stage \d+:[=> ]*\(\d+ \+ \d+\) / \d+\]")
_LEVELS = (
    ("error", re.compile(r"\b(ERROR|FATAL|CRITICAL)\b|^\w*(Error|Exception)\b|^Traceback ")),
    ("warn", re.compile(r"\bWARN(ING)?\b")),
)


def draw(name: str, detail: JobDetail) -> None:
    """The log of the newest run, or of the one that the address names."""
    runs = {run.id: run for run in detail.runs}
    with st.container(horizontal=True, vertical_alignment="center", key="log_bar"):
        follow = st.toggle("Follow", value=True, key="follow")
        wrap = st.toggle("Wrap lines", key="wrap", bind="query-params")
        chosen = ""
        if len(runs) > 1:
            chosen = st.selectbox(
                "Run", list(runs), key="run", bind="query-params", format_func=lambda run_id: _run(runs, run_id),
                label_visibility="collapsed", width=320,
            ) or ""  # fmt: skip
        chunk = _tail(name, chosen, follow)
        st.html(f'<div class="tm-stamp">{_extent(chunk)}</div>', width="stretch")
        st.download_button(
            "Download", lambda: whole(name, chosen), f"{name}-{chunk.run}.log", "text/plain",
            icon=":material/download:", key="log_download", on_click="ignore",
        )  # fmt: skip
    if not chunk.text:
        with empty_state("The log is empty", "What the driver prints, and what Spark says, appears here as it is written.", key="log"):
            command(f"python -m pipelines logs {name} --follow")
        return
    box(chunk.text, height=620, wrap=wrap)


def box(text: str, *, height: int, wrap: bool) -> None:
    """The text in a box that is scrolled to its end, and stays there as it grows."""
    log = f'<pre class="tm-log{" wrap" if wrap else ""}" data-testid="log">{marked(text)}</pre>'
    st.html(f'<div class="tm-logbox" style="max-height:{height}px" tabindex="0" role="log" aria-label="Driver log">{log}</div>')


def _tail(name: str, run: str, follow: bool) -> LogChunk:
    """The log's end; while it is held still, the end that it had then."""
    held = st.session_state.get("log_held")
    if not follow and held and held[0] == (name, run):
        return held[1]  # type: ignore[no-any-return]
    chunk = session.workspace().ask(ReadLog(name, run=run, offset=-TAIL_BYTES))
    st.session_state["log_held"] = ((name, run), chunk)
    return chunk


def _run(runs: Mapping[RunId, object], named: str) -> str:
    return f"{named}{' (newest)' if named == next(iter(runs)) else ''}"


def _extent(chunk: LogChunk) -> str:
    shown = chunk.next_offset - chunk.offset
    return formats.size(chunk.size) if shown >= chunk.size else f"the last {formats.size(shown)} of {formats.size(chunk.size)}"


def marked(text: str) -> str:
    """A log as HTML with its errors and warnings marked, without the progress bars that Spark draws for terminals."""
    lines = (line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line for line in text.split("\n"))
    shown = (line for line in lines if line.strip() and not _BAR.match(line))
    return "\n".join(_line(line) for line in shown)


def _line(line: str) -> str:
    level = next((name for name, pattern in _LEVELS if pattern.search(line)), "")
    return f'<span class="{level}">{escape(line)}</span>' if level else escape(line)


def whole(name: str, run: str) -> str:
    """The whole log, read piece by piece."""
    offset, pieces = 0, []
    while True:
        chunk = session.workspace().ask(ReadLog(name, run=run, offset=offset, limit=PIECE))
        pieces.append(chunk.text)
        if chunk.next_offset >= chunk.size or chunk.next_offset == offset:
            return "".join(pieces)
        offset = chunk.next_offset
