"""A job's savepoints, and the batches that Spark still keeps on an axis of time: a savepoint or a fork can begin at any of them."""

from __future__ import annotations

import streamlit as st

from dashboard import navigation, session
from dashboard.components.table import Cell, Column, Row, moment, number, shortened, table
from dashboard.trust import TONES
from dashboard.views.job import actions, points
from dashboard.widgets import command, empty_state, errors_shown, section
from pipelines.domain.jobs import JobDetail
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.space import SavepointSpace
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import formats
from pipelines.words.savepoints import FREES, FULL, ORIGIN_HINTS, ORIGINS, SIZE_HINTS
from pipelines.words.trust import LEVELS, best

COLUMNS = (
    Column("Id"),
    Column("Label"),
    Column("Taken"),
    Column("Batch", "right"),
    Column("Batch committed"),
    Column("Origin"),
    Column("Trust", hint="Complete: its files are there. Intact: their checksums are right. Proved: Spark restored it."),
    Column(FULL, "right", SIZE_HINTS[FULL]),
    Column(FREES, "right", SIZE_HINTS[FREES]),
    Column("Took", "right"),
    Column("Version"),
)


def draw(name: str, detail: JobDetail, now: float) -> None:
    """The axis, the point chosen on it, the list."""
    taken = session.workspace().ask(ListSavepoints(name))
    with errors_shown():
        points.draw(name, detail, session.workspace().ask(ListRetained(name)), taken)
    if taken:
        section("Savepoints", f"{len(taken):,}, newest first")
        space = session.spaces()
        opened = table(
            COLUMNS,
            [row(savepoint, space.get(savepoint.id), now) for savepoint in taken],
            key="job_savepoints",
            label="Savepoints of this job",
            max_height=520,
        )
        if opened:
            navigation.go("savepoints", savepoint=opened)
    else:
        _none(name)


def row(savepoint: Savepoint, own: SavepointSpace | None, now: float) -> Row:
    """One savepoint in the table."""
    trust = best(savepoint)
    cells = (
        shortened(savepoint.id, strong=True),
        Cell(savepoint.label or formats.MISSING, muted=not savepoint.label),
        moment(savepoint.created_ms, now),
        Cell(f"{savepoint.batch:,}", sort=savepoint.batch),
        moment(savepoint.queries[0].batch_timestamp_ms, now),
        Cell(ORIGINS[savepoint.reason], muted=True, hint=ORIGIN_HINTS[savepoint.reason]),
        Cell(trust, tone=TONES[trust], hint=LEVELS[trust]),
        number(own.bytes if own else savepoint.bytes, formats.size),
        number(own.frees_bytes if own else None, formats.size),
        number(savepoint.took_ms, formats.duration),
        shortened(savepoint.version, muted=True),
    )
    return Row(savepoint.id, cells, navigation.href("savepoints", savepoint=savepoint.id))


def _none(name: str) -> None:
    says = "A savepoint holds the job's state at one batch, for good: to go back to, or to fork from. The job does not notice."
    with empty_state("No savepoints yet", says, key="savepoints"):
        if st.button("Take a savepoint", type="primary", icon=":material/bookmark_add:", key="take_first"):
            actions.take(name)
            st.rerun()
        command(f"python -m pipelines savepoint {name}")
