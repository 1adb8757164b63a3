"""Batches as a timeline and as a table, and one of them in detail: where its time went, what it read, what can begin there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from dashboard import address, navigation, session
from dashboard.components.panel import panel
from dashboard.components.table import Cell, Column, Row, clock, number, table
from dashboard.drawing.batches import batch_id, failed_runs, timeline
from dashboard.drawing.figures import TimeMark
from dashboard.drawing.marks import marks_of, savepoint_words
from dashboard.drawing.phases import timed
from dashboard.drawing.retention import point_id
from dashboard.views import ranges
from dashboard.views.job import observed, points
from dashboard.widgets import empty_state, errors_shown, facts, section, when
from pipelines.domain.experiments import BatchRow
from pipelines.domain.jobs import JobDetail
from pipelines.domain.json_text import read_json
from pipelines.domain.savepoints import RetainedBatch, Savepoint
from pipelines.verbs.jobs import ListBatches, ListRetained
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import formats

LIMITS = (100, 500, 2_000)
COLUMNS = (
    Column("At"),
    Column("Batch", "right"),
    Column("Query"),
    Column("Duration", "right"),
    Column("Process", "right", "Reading, computing, writing: what Spark calls addBatch"),
    Column("Commit", "right", "Writing the commit log and the state's commit"),
    Column("Rows read", "right"),
    Column("Late rows", "right", "Dropped because the watermark had passed them"),
    Column("State rows", "right"),
    Column("Watermark"),
)
KEPT_AGE_MS = 10_000
"""What Spark still keeps is read from the checkpoint's logs, so it may be so old."""


def draw(name: str, detail: JobDetail, now: float) -> None:
    """The newest batches as a timeline and as a table; the chosen one beside the table."""
    span = ranges.chosen()
    rows = _rows(name, span)
    if not rows and span is None:
        with empty_state(
            "No batch yet", "A batch is shown here as soon as Spark has committed it, with its phases and offsets.", key="batches"
        ):
            pass
        return
    kept = _kept(name)
    _timelines(name, detail, rows, kept, span)
    _shown(span, rows)
    chosen = next((row for row in rows if batch_id(row) == session.selected("batch")), None)
    if chosen is None:
        address.check_among("batch", [*map(batch_id, rows), *map(point_id, kept)], "batch")
        _list(rows, "")
        return
    if of_row(kept, chosen) is None and chosen.batch in alive(kept, chosen.query, (chosen,)):
        kept = _kept(name, age_ms=0)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _list(rows, batch_id(chosen))
    with right:
        _detail(chosen, now)
        points.act(name, detail, of_row(kept, chosen), kept)


def _rows(name: str, span: ranges.Span | None) -> Sequence[BatchRow]:
    """The newest batches, or those of the stretch that somebody brushed."""
    if span is None:
        return session.shared(ListBatches(name, limit=_limit()))
    until = session.shared(ListBatches(name, limit=LIMITS[-1], to_ms=int(span.to_ms)), age_ms=KEPT_AGE_MS)
    return [row for row in until if row.at_ms >= span.from_ms]


def _shown(span: ranges.Span | None, rows: Sequence[BatchRow]) -> None:
    """Which batches stand in the table, and the way back to the newest ones."""
    with st.container(horizontal=True, vertical_alignment="center", key="batches_span"):
        ranges.field()
        if span is None:
            st.html('<span class="tm-hint">Drag across the timeline to choose a range; click a bar for its batch</span>', width="content")
        else:
            _those(span, rows)
    ranges.refused()


def _those(span: ranges.Span, rows: Sequence[BatchRow]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="batches_those"):
        many = formats.plural(len(rows), "batch", "batches")
        st.html(f'<span class="tm-span" data-testid="span">{ranges.words(span, session.zone())} · {many}</span>', width="content")
        st.button("Back to now", key="batches_now", icon=":material/update:", type="tertiary", on_click=ranges.choose, args=(None,))


def of_row(kept: Sequence[RetainedBatch], row: BatchRow) -> RetainedBatch | None:
    """The batch as Spark still keeps it, None where it has purged it."""
    return next((retained for retained in kept if (retained.query, retained.batch) == (row.query, row.batch)), None)


def alive(kept: Sequence[RetainedBatch], query: str, rows: Sequence[BatchRow]) -> frozenset[int]:
    """The batches of a query that Spark keeps, with those of `rows` that were committed after it was asked; none where it did not tell."""
    listed = frozenset(retained.batch for retained in kept if retained.query == query)
    return listed | {row.batch for row in rows if listed and row.batch > max(listed)}


def _kept(name: str, age_ms: float = KEPT_AGE_MS) -> Sequence[RetainedBatch]:
    """The batches that Spark still keeps; where the checkpoint does not tell, none, and why."""
    with errors_shown():
        return session.shared(ListRetained(name), age_ms=age_ms)
    return ()


def _timelines(name: str, detail: JobDetail, rows: Sequence[BatchRow], kept: Sequence[RetainedBatch], span: ranges.Span | None) -> None:
    """A timeline for each query; a click chooses a batch, or opens a savepoint."""
    taken, queries = session.shared(ListSavepoints(name)), sorted({row.query for row in rows})
    for query in queries:
        own = [row for row in rows if row.query == query]
        marks = [*saved_marks(taken, query), *marks_of(detail.runs, (), own[-1].at_ms)]
        failed = [run for run in failed_runs(detail.runs) if span is None or (run.ended_ms or 0) <= span.to_ms]
        chart = timeline(own, alive(kept, query, own), failed, marks, session.selected("batch"))
        title = f"Batches of {query}" if len(queries) > 1 else chart.title
        clicked = panel(
            replace(chart, title=title),
            key=f"timeline_{query}_{name}",
            group=f"batches_{name}",
            clickable=True,
            ranged=span.ranged if span else "",
            on_range=ranges.brushed,
        )
        if clicked and clicked.startswith("sp-"):
            navigation.go("savepoints", savepoint=clicked)
        elif clicked:
            _choose(clicked)


def saved_marks(taken: Sequence[Savepoint], query: str) -> list[TimeMark]:
    """A mark where each savepoint's batch began."""
    return [
        TimeMark(image.batch_timestamp_ms, "savepoint", savepoint_words(savepoint), savepoint.id)
        for savepoint in taken
        for image in savepoint.queries
        if image.query == query and image.begun
    ]


def _choose(batch: str) -> None:
    """Chooses a batch, or none where it was chosen before."""
    session.select(batch="" if batch == session.selected("batch") else batch)
    st.rerun(scope="fragment")


def _limit() -> int:
    return int(session.selected("batches", str(LIMITS[0]))) if session.selected("batches", "100").isdigit() else LIMITS[0]


def _list(rows: Sequence[BatchRow], chosen: str) -> None:
    shown = [_row(row) for row in rows]
    clicked = table(COLUMNS, shown, key="batches", label="Batches", selected=chosen, max_height=640)
    if clicked:
        _choose(clicked)
    step = next((limit for limit in LIMITS if limit > len(rows)), 0)
    if len(rows) >= _limit() and step and ranges.chosen() is None:
        st.button(f"Show {step:,}", type="tertiary", key="more_batches", on_click=session.select, kwargs={"batches": str(step)})


def _row(row: BatchRow) -> Row:
    commit = sum(row.phases.get(phase, 0.0) for phase in ("walCommit", "commitBatch", "commitOffsets"))
    cells = (
        clock(row.at_ms, session.zone()),
        Cell(f"{row.batch:,}", sort=row.batch, strong=True),
        Cell(row.query, muted=True),
        number(row.batch_ms, formats.duration),
        number(row.phases.get("addBatch"), formats.duration),
        number(commit, formats.duration),
        number(row.input_rows, formats.count),
        number(row.late_rows, formats.count),
        number(row.state_rows, formats.count),
        clock(row.watermark_ms, session.zone()),
    )
    return Row(batch_id(row), cells)


def _detail(row: BatchRow, now: float) -> None:
    with st.container(border=True, key="card_batch"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(
                f'<div class="tm-section"><h2>Batch {row.batch:,}</h2><span class="tm-caption">{escape(row.query)}</span></div>',
                width="stretch",
            )
            st.button(
                "", icon=":material/close:", type="tertiary", key="batch_close", help="Close", on_click=session.select, kwargs={"batch": ""}
            )
        facts(
            [
                ("Began", f"{formats.clock(row.at_ms, session.zone())}, {when(row.at_ms, now)}"),
                ("Duration", formats.duration(row.batch_ms)),
                ("Rows read", formats.count(row.input_rows)),
                ("Late rows dropped", formats.count(row.late_rows)),
                ("State rows", formats.count(row.state_rows)),
                ("Watermark", formats.exact(row.watermark_ms, session.zone())),
            ]
        )
        observed.of_batch(row.observed)
        section("Where its time went")
        st.html(phase_bars(row.phases, row.batch_ms))
        section("What it read")
        offsets(row)


def offsets(row: BatchRow) -> None:
    """The sources of a batch, each from which offset to which."""
    for source in _sources(row.sources):
        _source(source)


def phase_bars(phases: Mapping[str, float], batch_ms: float) -> str:
    """A bar for each phase, as long as its share of the batch."""
    whole = max(batch_ms, sum(phases.values()), 1e-9)
    bar = '<div><dt>{}</dt><dd><i class="{}" style="width:{:.2f}%"></i></dd><dd>{}</dd></div>'
    bars = "".join(
        bar.format(escape(phase.title), phase.tone, 100 * ms / whole, formats.duration(ms)) for phase, ms in timed(phases, batch_ms)
    )
    return f'<dl class="tm-phases">{bars}</dl>'


def _sources(raw: str) -> list[dict[str, Any]]:
    """Spark's JSON of a batch's sources."""
    read = read_json(raw) if raw else []
    return [source for source in read if isinstance(source, dict)]


def _source(source: Mapping[str, Any]) -> None:
    rows, description = source.get("numInputRows"), str(source.get("description", "source"))
    name = f'<b title="{escape(description)}">{escape(formats.source_name(description))}</b>'
    st.html(f'<p class="tm-source">{name} {formats.count(rows)} rows</p>')
    st.code(f"from {_offset(source.get('startOffset'))}\nto   {_offset(source.get('endOffset'))}", language=None, wrap_lines=True)


def _offset(offset: Any) -> str:
    if offset is None:
        return "the beginning"
    return offset if isinstance(offset, str) else json.dumps(offset)
