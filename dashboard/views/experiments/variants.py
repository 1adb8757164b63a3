"""All variants of an experiment side by side, a row each, against the first; with the columns in which they differ alone, if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from dashboard import navigation, session
from dashboard.components.table import Cell, Column, Row, clock, number, shortened, table
from dashboard.health import health
from dashboard.views.experiments import sides
from dashboard.views.experiments.comparisons import compared
from dashboard.views.experiments.sentence import Outcome
from dashboard.views.experiments.shares import share, whole
from dashboard.widgets import section
from pipelines.domain.experiments import Comparison, Experiment
from pipelines.domain.jobs import JobDetail
from pipelines.verbs.experiments import Compare
from pipelines.words import formats

OFTEN_MS = 30_000
"""A comparison that only this table shows may be so old."""
COLUMNS = (
    Column("Variant"),
    Column("State"),
    Column("Version"),
    Column("Batch", "right"),
    Column("Batch p50", "right"),
    Column("Batch p99", "right"),
    Column("Input", "right"),
    Column("State rows", "right"),
    Column("State memory", "right"),
    Column("Rows equal", "right", "Of the rows that it and A have up to the event time that both reached"),
    Column("First difference", hint="Event time of the first row that differs from A's"),
)
FIXED = 2
"""Columns that say which variant it is and how it does stay."""


@dataclass(frozen=True)
class Variant:
    """One job of an experiment; the first has no comparison."""

    letter: str
    job: str
    detail: JobDetail | None
    outcome: Outcome | None


def draw(experiment: Experiment, chosen: str) -> None:
    """The table; a click makes a variant B."""
    variants = [_variant(place, job, experiment.jobs[0]) for place, job in enumerate(experiment.jobs)]
    with st.container(horizontal=True, vertical_alignment="center", key="variants_head"):
        section("Variants", "each against A; a click shows one in detail")
        only = st.toggle("Differences only", session.selected("only") == "yes", key="variants_only")
    session.select(only="yes" if only else "")
    rows = [row(variant) for variant in variants]
    columns, rows = differing(COLUMNS, rows) if only else (COLUMNS, rows)
    clicked = table(columns, rows, key="variants", label="Variants of this experiment", selected=chosen)
    if clicked and clicked not in (chosen, experiment.jobs[0]):
        session.select(a=experiment.jobs[0], b=clicked)
        st.rerun()


def _variant(place: int, job: str, first: str) -> Variant:
    outcome = compared(Compare(first, job), OFTEN_MS).outcome if place else None
    return Variant(chr(ord("A") + place) if place < 26 else str(place), job, sides.detail_of(job), outcome)


def row(variant: Variant) -> Row:
    """One variant in the table."""
    name = Cell(f"{variant.letter} {variant.job}", strong=True)
    if variant.detail is None:
        return Row(variant.job, (name, Cell("Forgotten", muted=True), *(Cell() for _ in COLUMNS[FIXED:])))
    summary = variant.detail.summary
    text, tone = health(summary)
    cells = (
        name,
        Cell(text, tone=tone, live=summary.state is not None and summary.state.live),
        shortened(summary.run.version) if summary.run else Cell(),
        number(summary.batch, formats.count),
        number(summary.batch_ms_p50, formats.duration),
        number(summary.batch_ms_p99, formats.duration),
        number(summary.input_rate, formats.rate),
        number(summary.state_rows, formats.count),
        number(summary.state_bytes, formats.size),
        *_outcome(variant.outcome),
    )
    return Row(variant.job, cells, navigation.href("job", job=variant.job))


def _outcome(outcome: Outcome | None) -> tuple[Cell, Cell]:
    if outcome is None:
        return Cell(), Cell()
    if not isinstance(outcome, Comparison):
        return Cell("not compared", muted=True, hint=outcome.message), Cell()
    equal = Cell(share(outcome.equal, whole(outcome)), sort=outcome.equal / max(whole(outcome), 1))
    return equal, clock(outcome.parting.at_ms, session.zone()) if outcome.parting else Cell("none", muted=True)


def differing(columns: Sequence[Column], rows: Sequence[Row]) -> tuple[list[Column], list[Row]]:
    """The table without the columns in which all rows say the same; the first two stay."""
    kept = [place for place in range(len(columns)) if place < FIXED or len({row.cells[place].text for row in rows}) > 1]
    return [columns[place] for place in kept], [Row(row.id, [row.cells[place] for place in kept], row.href) for row in rows]
