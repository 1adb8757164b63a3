"""The list of batches, and one of them in detail: where its time went, what it read from where to where."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.components.table import Cell, Column, Row, clock, moment, number, table
from dashboard.widgets import empty_state, facts, section, when
from pipelines.domain.experiments import BatchRow
from pipelines.domain.json_text import read_json
from pipelines.verbs.jobs import ListBatches
from pipelines.words import formats

LIMITS = (100, 500, 2_000)
COLUMNS = (
    Column("Batch", "right"),
    Column("Query"),
    Column("Triggered"),
    Column("Duration", "right"),
    Column("Add batch", "right", "Reading, computing, writing: the batch's real work"),
    Column("Commit", "right", "Writing the commit log and the state's commit"),
    Column("Rows read", "right"),
    Column("Late rows", "right", "Dropped because the watermark had passed them"),
    Column("State rows", "right"),
    Column("Watermark"),
)
PHASES = {
    "latestOffset": ("latest offset", "green"), "getBatch": ("get batch", "cyan"), "queryPlanning": ("query planning", "orange"),
    "walCommit": ("write-ahead log", "violet"), "addBatch": ("add batch", "blue"), "commitBatch": ("commit batch", "pink"),
    "commitOffsets": ("commit offsets", "pink"),
}  # fmt: skip


def draw(name: str, now: float) -> None:
    """The newest batches; the chosen one beside them."""
    rows = session.workspace().ask(ListBatches(name, limit=_limit()))
    if not rows:
        with empty_state(
            "No batches yet", "A batch is listed here as soon as Spark has committed it, with its phases and offsets.", key="batches"
        ):
            pass
        return
    chosen = session.selected("batch")
    known = {_id(row): row for row in rows}
    if chosen not in known:
        _list(rows, "", now)
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _list(rows, chosen, now)
    with right:
        _detail(known[chosen], now)


def _limit() -> int:
    return int(session.selected("batches", str(LIMITS[0]))) if session.selected("batches", "100").isdigit() else LIMITS[0]


def _list(rows: Sequence[BatchRow], chosen: str, now: float) -> None:
    shown = [_row(row, now) for row in rows]
    clicked = table(COLUMNS, shown, key="batches", label="Batches", selected=chosen, max_height=640)
    if clicked:
        session.select(batch="" if clicked == chosen else clicked)
        st.rerun(scope="fragment")
    step = next((limit for limit in LIMITS if limit > len(rows)), 0)
    if len(rows) >= _limit() and step:
        st.button(f"Show {step:,}", type="tertiary", key="more_batches", on_click=session.select, kwargs={"batches": str(step)})


def _id(row: BatchRow) -> str:
    return f"{row.query}:{row.batch}"


def _row(row: BatchRow, now: float) -> Row:
    commit = sum(row.phases.get(phase, 0.0) for phase in ("walCommit", "commitBatch", "commitOffsets"))
    cells = (
        Cell(f"{row.batch:,}", sort=row.batch, strong=True),
        Cell(row.query, muted=True),
        moment(row.at_ms, now),
        number(row.batch_ms, formats.duration),
        number(row.phases.get("addBatch"), formats.duration),
        number(commit, formats.duration),
        number(row.input_rows, formats.count),
        number(row.late_rows, formats.count),
        number(row.state_rows, formats.count),
        clock(row.watermark_ms, session.zone()),
    )
    return Row(_id(row), cells)


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
                ("Triggered", when(row.at_ms, now)),
                ("Duration", formats.duration(row.batch_ms)),
                ("Rows read", formats.count(row.input_rows)),
                ("Late rows dropped", formats.count(row.late_rows)),
                ("State rows", formats.count(row.state_rows)),
                ("Watermark", formats.exact(row.watermark_ms)),
            ]
        )
        section("Where its time went")
        st.html(phase_bars(row.phases, row.batch_ms))
        section("What it read")
        for source in _sources(row.sources):
            _source(source)


def phase_bars(phases: Mapping[str, float], batch_ms: float) -> str:
    """A bar for each phase, as long as its share of the batch."""
    whole = max(batch_ms, sum(phases.values()), 1e-9)
    rest = max(0.0, batch_ms - sum(phases.values()))
    listed = [(*PHASES.get(phase, (phase, "gray")), ms) for phase, ms in phases.items()] + [("everything else", "gray", rest)]
    bar = '<div><dt>{}</dt><dd><i class="{}" style="width:{:.2f}%"></i></dd><dd>{}</dd></div>'
    bars = "".join(bar.format(escape(title), tone, 100 * ms / whole, formats.duration(ms)) for title, tone, ms in listed)
    return f'<dl class="tm-phases">{bars}</dl>'


def _sources(raw: str) -> list[dict[str, Any]]:
    """Spark's JSON of a batch's sources."""
    read = read_json(raw) if raw else []
    return [source for source in read if isinstance(source, dict)]


def _source(source: Mapping[str, Any]) -> None:
    rows = source.get("numInputRows")
    st.html(f'<p class="tm-source"><b>{escape(str(source.get("description", "source")))}</b> {formats.count(rows)} rows</p>')
    st.code(f"from {_offset(source.get('startOffset'))}\nto   {_offset(source.get('endOffset'))}", language=None, wrap_lines=True)


def _offset(offset: Any) -> str:
    if offset is None:
        return "the beginning"
    return offset if isinstance(offset, str) else json.dumps(offset)
