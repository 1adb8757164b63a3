"""A job's savepoints, and the batches that Spark still keeps on an axis of time: a savepoint or a fork can begin at any of them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import formats, navigation, session
from dashboard.components.panel import panel
from dashboard.components.table import Cell, Column, Row, moment, number, table
from dashboard.retention import batches_chart
from dashboard.views.job import actions
from dashboard.widgets import Tone, command, empty_state, errors_shown, section
from pipelines.domain.jobs import JobDetail
from pipelines.domain.savepoints import Reason, RetainedBatch, Savepoint, Trust

COLUMNS = (
    Column("Id"),
    Column("Label"),
    Column("Taken"),
    Column("Batch", "right"),
    Column("Batch committed"),
    Column("Why"),
    Column("Trust", hint="Complete: its files are there. Intact: their checksums are right. Proved: Spark restored it."),
    Column("Size", "right"),
    Column("New bytes", "right", "What taking it added to the disk"),
    Column("Took", "right"),
    Column("Version"),
)
REASONS = {Reason.MANUAL: "by hand", Reason.STOP: "at a stop", Reason.BEFORE_RESUME: "before a resume"}
TRUST: dict[Trust, Tone] = {Trust.COMPLETE: "gray", Trust.INTACT: "blue", Trust.PROVED: "green"}


def draw(name: str, detail: JobDetail, now: float) -> None:
    """The axis, the point chosen on it, the list."""
    taken = session.workspace().savepoints(name)
    with errors_shown():
        kept = session.workspace().retained(name)
        _axis(name, kept, taken)
    if taken:
        section("Savepoints", f"{len(taken):,}, newest first")
        opened = table(COLUMNS, [row(one, now) for one in taken], key="job_savepoints", label="Savepoints of this job", max_height=520)
        if opened:
            navigation.go("savepoints", savepoint=opened)
    else:
        _none(name)


def _axis(name: str, kept: Sequence[RetainedBatch], taken: Sequence[Savepoint]) -> None:
    if not kept:
        return
    several = len({one.query for one in kept}) > 1
    chosen = session.selected("point")
    clicked = panel(batches_chart(kept, taken, chosen), key=f"retained_{name}", clickable=True)
    if clicked:
        if clicked.startswith("sp-"):
            navigation.go("savepoints", savepoint=clicked)
        session.select(point="" if clicked == chosen else clicked)
        st.rerun(scope="fragment")
    point = next((one for one in kept if point_id(one) == chosen), None)
    _point(name, point, kept[-1], several)


def point_id(one: RetainedBatch) -> str:
    """What stands in the address for a batch of the axis."""
    return f"{one.query}:{one.batch}"


def _point(name: str, point: RetainedBatch | None, newest: RetainedBatch, several: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="point"):
        if point is None:
            words = "Click a batch to take a savepoint of that moment, or to fork from it."
            if session.selected("point"):
                words = "The batch chosen is no longer kept by Spark. Click another one."
            st.html(f'<p class="tm-hint">{words}</p>', width="stretch")
            return
        back = formats.plural(newest.batch - point.batch, "batch", "batches")
        said = "the newest batch" if newest.batch == point.batch else f"{back} before the newest"
        committed = formats.exact(point.timestamp_ms, session.zone())
        watermark = f" · watermark {formats.exact(point.watermark_ms, session.zone())}" if point.watermark_ms else ""
        st.html(f'<p class="tm-point"><b>Batch {point.batch:,}</b> {said} · {committed}{watermark}</p>', width="stretch")
        here = st.button("Savepoint here", icon=":material/bookmark_add:", key="point_take")
        fork = st.button("Fork from here", icon=":material/call_split:", type="primary", key="point_fork")
    if here or fork:
        taken = actions.take(name, None if several else point.batch, point.timestamp_ms if several else None)
        if taken and fork:
            navigation.go("fork", savepoint=taken.id)
        st.rerun()


def row(one: Savepoint, now: float) -> Row:
    """One savepoint in the table."""
    trust = Cell("damaged", tone="red") if one.damaged_files else Cell(one.trust.value, tone=TRUST[one.trust])
    cells = (
        Cell(formats.short_id(one.id), mono=True, strong=True, hint=one.id),
        Cell(one.label or formats.MISSING, muted=not one.label),
        moment(one.created_ms, now),
        Cell(f"{one.batch:,}", sort=one.batch),
        moment(one.queries[0].batch_timestamp_ms, now),
        Cell(REASONS[one.reason], muted=True),
        trust,
        number(one.bytes, formats.size),
        number(one.new_bytes, formats.size),
        number(one.took_ms, formats.duration),
        Cell(formats.short_id(one.version), mono=True, muted=True, hint=one.version),
    )
    return Row(one.id, cells, navigation.href("savepoints", savepoint=one.id))


def _none(name: str) -> None:
    says = "A savepoint holds the job's state at one batch, for good: to go back to, or to fork from. The job does not notice."
    with empty_state("No savepoints yet", says, key="savepoints"):
        if st.button("Take a savepoint", type="primary", icon=":material/bookmark_add:", key="take_first"):
            actions.take(name)
            st.rerun()
        command(f"python -m pipelines savepoint {name}")
