"""The driver's log: its end as it grows, any other part of it, and what a search finds in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

import streamlit as st

from dashboard import address, navigation, session
from dashboard.views.job import event_log, log_levels
from dashboard.widgets import command, empty_state
from pipelines.domain.bounds import LATEST_MS
from pipelines.domain.ids import RunId
from pipelines.domain.jobs import JobDetail
from pipelines.domain.logs import LogChunk, LogEntry, LogLevel, LogSearch, level_of, plain
from pipelines.verbs.jobs import ReadLog, SearchLog
from pipelines.words import formats

PART_BYTES = 60_000
LEAD_BYTES = 1_500
"""What is shown before the line that somebody came for."""
MOST_ENTRIES = 500
SEARCH_AGE_MS = 10_000
"""The whole log is read for a search, so it is not read anew with every refresh."""
ALL = "All levels"
LEVELS: Mapping[str, LogLevel] = {
    ALL: LogLevel.OTHER,
    "Trace": LogLevel.TRACE,
    "Debug": LogLevel.DEBUG,
    "Info": LogLevel.INFO,
    "Warnings": LogLevel.WARNING,
    "Errors": LogLevel.ERROR,
    "Fatal": LogLevel.FATAL,
}
"""Each with all that is worse."""
_CLASSES = {LogLevel.FATAL: "error", LogLevel.ERROR: "error", LogLevel.WARNING: "warn"}


@dataclass(frozen=True)
class View:
    """What is looked at: a run's log from the line at a byte on (its end where that is None), or what fits a search."""

    job: str
    run: str
    line: int | None
    text: str
    level: LogLevel

    @property
    def searches(self) -> bool:
        return bool(self.text) or self.level is not LogLevel.OTHER

    def search(self) -> SearchLog:
        return SearchLog(self.job, self.run, self.text, self.level, limit=MOST_ENTRIES)


def draw(name: str, detail: JobDetail) -> None:
    """The log of the newest run, or of the one that the address names."""
    runs = {run.id: run for run in detail.runs}
    view, follow, wrap = _bar(name, runs)
    known = session.shared(view.search(), age_ms=SEARCH_AGE_MS)
    chunk = _chunk(view, follow)
    _second_bar(view, known, chunk, detail)
    event_log.draw(name)
    if not chunk.size:
        with empty_state("The log is empty", "What the driver prints, and what Spark says, appears here as it is written.", key="log"):
            command(f"python -m pipelines logs {name} --follow")
    elif view.searches:
        _show_entries(view, known, wrap)
    else:
        box(chunk.text, height=620, wrap=wrap, line=_target(view, chunk))


def _bar(name: str, runs: Mapping[RunId, object]) -> tuple[View, bool, bool]:
    with st.container(horizontal=True, vertical_alignment="center", key="log_bar"):
        text = st.text_input(
            "Search", key="find", bind="query-params", placeholder="Search the whole log", icon=":material/search:",
            label_visibility="collapsed", live=True, width=280,
        )  # fmt: skip
        level = st.selectbox("Level and worse", list(LEVELS), key="level", bind="query-params", label_visibility="collapsed", width=130)
        follow = st.toggle("Follow", value=True, key="follow")
        wrap = st.toggle("Wrap lines", key="wrap", bind="query-params")
        chosen = ""
        address.check_among("run", list(runs), "run")
        if len(runs) > 1:
            chosen = st.selectbox(
                "Run", list(runs), key="run", bind="query-params", format_func=lambda run_id: _run(runs, run_id),
                label_visibility="collapsed", width=320,
            ) or ""  # fmt: skip
    line = session.selected("line")
    place = int(line) if line.isdecimal() else _since(name, chosen)
    return View(name, chosen, place, text or "", LEVELS[level or ALL]), follow, wrap


def _since(name: str, run: str) -> int | None:
    """The byte of the first entry since the moment that the address names; None where there is none."""
    since = session.selected("since")
    if not since.isdecimal() or len(since) > len(str(LATEST_MS)):
        return None
    question = SearchLog(name, run, from_ms=min(int(since), LATEST_MS) // 1_000 * 1_000, limit=1)
    first = session.shared(question, age_ms=SEARCH_AGE_MS).first
    return first.offset if first else None


def _second_bar(view: View, known: LogSearch, chunk: LogChunk, detail: JobDetail) -> None:
    """What the log holds, and the ways through it."""
    first_error = _first_error(view, known)
    with st.container(horizontal=True, vertical_alignment="center", key="log_ways"):
        _way("First error", first_error, "first_error", icon=":material/error:")
        if not view.searches:
            end = chunk.next_offset >= chunk.size
            before = max(chunk.begin, chunk.offset - PART_BYTES) if chunk.offset > chunk.begin else None
            _way("Beginning", None if before is None else chunk.begin, "log_begin")
            _way("Earlier", before, "log_before", icon=":material/chevron_left:")
            _way("Later", None if end else chunk.next_offset, "log_behind", icon=":material/chevron_right:")
            st.button("End", key="log_end", type="tertiary", disabled=end and view.line is None, on_click=_go, args=(None,))
        st.html(f'<div class="tm-stamp">{_counts(known)} · {_extent(view, known, chunk)}</div>', width="stretch")
        file = f"/api/v1/jobs/{quote(view.job)}/logs/file?run={quote(chunk.run)}"
        st.html(f'<a class="tm-open" href="{escape(file)}" target="_self">Download</a>', width="content")
        log_levels.button(view.job, detail)
        event_log.button(view.job, chunk.run)


def _first_error(view: View, known: LogSearch) -> int | None:
    """The first byte of the first error of all; None where there is none."""
    if not known.errors:
        return None
    question = SearchLog(view.job, view.run, level=LogLevel.ERROR, limit=1)
    first = session.shared(question, age_ms=SEARCH_AGE_MS).first
    return first.offset if first else None


def _way(label: str, line: int | None, key: str, *, icon: str | None = None) -> None:
    """A button that shows the part of the log at the byte `line`; None where there is no such part."""
    st.button(label, key=key, icon=icon, type="tertiary", disabled=line is None, on_click=_go, args=(line,))


def _go(line: int | None) -> None:
    """Shows the log at this byte (None: its end), and ends a search."""
    st.session_state["find"], st.session_state["level"] = "", ALL
    session.select(line="" if line is None else str(line), since="")


def _counts(known: LogSearch) -> str:
    errors = formats.plural(known.errors, "error")
    return f"{errors}, {formats.plural(known.warnings, 'warning')}" + (" in its last part" if known.begin else "")


def _extent(view: View, known: LogSearch, chunk: LogChunk) -> str:
    if view.searches:
        shown = len(known.entries)
        return f"{formats.plural(known.fits, 'entry', 'entries')} fit" + (f", the newest {shown:,} shown" if shown < known.fits else "")
    part, size = chunk.next_offset - chunk.offset, formats.size(chunk.size)
    if chunk.begin:
        size += f", of which the first {formats.size(chunk.begin)} are not kept any more"
    if part >= chunk.size - chunk.begin:
        return size
    return f"the last {formats.size(part)} of {size}" if view.line is None else f"bytes {chunk.offset:,} to {chunk.next_offset:,} of {size}"


def _show_entries(view: View, known: LogSearch, wrap: bool) -> None:
    """The entries that fit, each with the way to its place in the log."""
    if not known.entries:
        with empty_state("Nothing in the log fits", "The whole log was searched. Search for other words, or show all levels.", key="found"):
            pass
        return
    _scrolled("\n".join(_entry(view, entry) for entry in known.entries), height=620, wrap=wrap, end=True)


def _entry(view: View, entry: LogEntry) -> str:
    link = escape(navigation.href("job", job=view.job, tab="Logs", run=view.run, line=str(entry.offset)))
    return f'<a class="tm-place" href="{link}" target="_self" title="In the log">→</a>{_marked(entry.text.splitlines())}'


def box(text: str, *, height: int, wrap: bool, line: str | None = None) -> None:
    """The text in a box that is scrolled to its end, and stays there as it grows; with `line`, the line that somebody came for, it is at
    its beginning, and the line is marked."""
    shown = [plain(row) for row in text.split("\n")]
    _scrolled(_marked([row for row in shown if row.strip()], line), height=height, wrap=wrap, end=line is None)


def _scrolled(html: str, *, height: int, wrap: bool, end: bool) -> None:
    log = f'<pre class="tm-log{" wrap" if wrap else ""}" data-testid="log">{html}</pre>'
    kind = "" if end else " begin"
    st.html(f'<div class="tm-logbox{kind}" style="max-height:{height}px" tabindex="0" role="log" aria-label="Driver log">{log}</div>')


def _marked(lines: Sequence[str], came_for: str | None = None) -> str:
    """Lines as HTML, with errors, warnings and the line that somebody came for marked."""
    place = lines.index(came_for) if came_for and came_for in lines else -1
    return "\n".join(_line(line, "here" if at == place else "") for at, line in enumerate(lines))


def _line(line: str, more: str) -> str:
    kinds = " ".join(filter(None, (_CLASSES.get(level_of(line), ""), more)))
    return f'<span class="{kinds}">{escape(line)}</span>' if kinds else escape(line)


def _chunk(view: View, follow: bool) -> LogChunk:
    """The part of the log at the byte that the address names, or its end; while that is held still, the end that it had then."""
    if view.line is not None:
        return _part(view, view.line)
    held, key = st.session_state.get("log_held"), (view.job, view.run)
    if not follow and held and held[0] == key:
        return held[1]  # type: ignore[no-any-return]
    chunk = session.workspace().ask(ReadLog(view.job, run=view.run, offset=-PART_BYTES))
    st.session_state["log_held"] = (key, chunk)
    return chunk


def _part(view: View, line: int) -> LogChunk:
    """From a little before that byte on, in whole lines."""
    begin = max(0, line - LEAD_BYTES)
    chunk = session.workspace().ask(ReadLog(view.job, run=view.run, offset=begin, limit=PART_BYTES + LEAD_BYTES))
    cut = chunk.text.find("\n") + 1 if chunk.offset > chunk.begin else 0
    skipped = len(chunk.text[:cut].encode())
    return LogChunk(chunk.run, chunk.text[cut:], chunk.offset + skipped, chunk.next_offset, chunk.size, chunk.begin)


def _target(view: View, chunk: LogChunk) -> str | None:
    """The line at the byte that the address names; empty where no line begins there, None where it names none."""
    if view.line is None:
        return None
    before = chunk.text.encode()[: max(0, view.line - chunk.offset)]
    return plain(chunk.text.encode()[len(before) :].decode("utf-8", "replace").split("\n", 1)[0]) if before else ""


def _run(runs: Mapping[RunId, object], named: str) -> str:
    return f"{named}{' (newest)' if named == next(iter(runs)) else ''}"
