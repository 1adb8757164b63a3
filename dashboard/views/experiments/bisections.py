"""A bisection: the first wrong batch, what it read, what is wrong in it, and how it was found."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboard import navigation, session
from dashboard.components.frames import save_buttons
from dashboard.components.table import Cell, Column, Row, moment, number, shortened, table
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views.commands import commands
from dashboard.views.experiments.shares import examples_frame, tinted
from dashboard.widgets import Tone, chip, page_header, plain_facts, section, when
from pipelines.domain.bisections import Answer, Bisection
from pipelines.verbs.bisect import Bisect, ListBisections
from pipelines.words import bisections, formats

TONES: dict[Answer, Tone] = {Answer.RIGHT: "green", Answer.WRONG: "red", Answer.SKIPPED: "gray"}
COLUMNS = (
    Column("Bisection"),
    Column("Job", wide=True),
    Column("Query"),
    Column("Judged"),
    Column("Wrong batch", "right"),
    Column("Judged batches", "right"),
    Column("Ended"),
)
CHANGES = {"changed": "Changed", "only_b": "Added", "only_a": "Removed"}
STEPS = (Column("Batch", "right"), Column("Answer"), Column("Wrong rows", "right"), Column("Rows came", wide=True), Column("Took", "right"))


def draw_list() -> None:
    """All bisections; nothing where there is none."""
    listed = session.workspace().ask(ListBisections())
    if not listed:
        return
    section("Bisections", "the first wrong batch between two savepoints")
    rows = [_row(bisection, session.now_ms()) for bisection in listed]
    opened = table(COLUMNS, rows, key="bisections", label="Bisections", max_height=320)
    if opened:
        session.select(bisection=opened)
        st.rerun()


def _row(bisection: Bisection, now_ms: float) -> Row:
    cells = (
        shortened(bisection.id, strong=True),
        Cell(bisection.job),
        Cell(bisection.query),
        Cell(bisection.over.value),
        number(bisection.wrong, formats.count),
        number(len(bisection.steps), formats.count),
        moment(bisection.created_ms, now_ms),
    )
    return Row(bisection.id, cells, navigation.href("experiments", bisection=bisection.id))


def draw(bisection: Bisection) -> None:
    """The batch and its input, the wrong rows, each step."""
    ended = f"ended {when(bisection.created_ms, session.now_ms())} · took {formats.duration(bisection.took_ms)}"
    with page_header(f"Bisection of {bisection.job}", chips=[chip(bisection.id, mono=True)], caption=f"query {bisection.query} · {ended}"):
        if st.button("All experiments", icon=":material/arrow_back:", type="tertiary", key="bisection_back"):
            navigation.go("experiments")
        again = Bisect(
            job=bisection.job, good=bisection.good, bad=bisection.bad, sql=bisection.sql, over=bisection.over, query=bisection.query
        )
        commands([again] if bisection.sql else [ListBisections()], key="bisection_command")
    st.caption(f"{bisections.sentence(bisection)} {bisections.how(bisection)}")
    key_figures(
        [
            KeyFigure("First wrong batch", formats.count(bisection.wrong), note=f"{bisections.before(bisection)} is right"),
            KeyFigure("Batches in between", formats.count(bisection.bad_batch - bisection.good_batch - 1), note="of good and bad"),
            KeyFigure("Judged", formats.count(len(bisection.steps)), note="both ends count"),
        ],
        min_width=180,
    )
    _inputs(bisection)
    _rows(bisection)
    _changes(bisection)
    _steps(bisection)


def _inputs(bisection: Bisection) -> None:
    section("What it read", f"after {bisections.before(bisection)}, up to batch {bisection.wrong:,}")
    if not bisection.inputs:
        st.caption("Spark no longer keeps the offsets of these batches.")
        return
    files = [(f"source {part.source}, file", file) for part in bisection.inputs for file in part.files]
    plain_facts([(f"source {part.source}", bisections.read(part)) for part in bisection.inputs] + files)


def _rows(bisection: Bisection) -> None:
    section("Wrong rows", f"as of batch {bisection.wrong:,}{', and there are more' if bisection.more else ''}")
    if bisection.sql:
        st.code(bisection.sql, language="sql")
    if bisection.words:
        st.caption("The script's last words of this batch:")
        st.code(bisection.words, language=None)
    if not bisection.rows:
        st.caption(
            "A script judged, and named none: it does by lines of JSON in `wrong.jsonl`." if not bisection.sql else "None were kept."
        )
        return
    frame = pd.DataFrame([list(row) for row in bisection.rows], columns=list(bisection.columns)).convert_dtypes()
    st.dataframe(frame, hide_index=True, key="bisection_rows", alt="Wrong rows")
    save_buttons(frame, name="wrong_rows", key="bisection_rows")


def _changes(bisection: Bisection) -> None:
    section("What it made otherwise", "the rows as of the last right batch (A) against those as of the first wrong one (B)")
    st.caption(bisections.changed(bisection))
    changes = bisection.changes
    for kind, name in CHANGES.items() if changes else ():
        if changes and changes.examples.get(kind):
            frame = examples_frame(changes, kind)
            st.caption(f"{name} ({getattr(changes, kind):,})")
            shown = tinted(frame) if kind == "changed" else frame
            st.dataframe(shown, hide_index=True, key=f"bisection_{kind}", placeholder="=", alt=f"What it made otherwise: {name}")
            save_buttons(frame, name=f"bisection_{kind}", key=f"bisection_{kind}")


def _steps(bisection: Bisection) -> None:
    section("Steps", "in the order in which they were judged")
    rows = [
        Row(
            f"{step.batch}",
            (
                number(step.batch, formats.count),
                Cell(step.answer.value.capitalize(), tone=TONES[step.answer]),
                number(step.rows, formats.count),
                Cell(bisections.WAYS[step.way]),
                number(step.took_ms, formats.duration),
            ),
        )
        for step in bisection.steps
    ]
    table(STEPS, rows, key="bisection_steps", label="Steps")
