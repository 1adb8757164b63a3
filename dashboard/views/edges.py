"""What became of the state that a run went on with, on pages: a chip, and the whole."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard.drawing.verdicts import TONES, tone
from dashboard.widgets import chip, message_box
from pipelines.domain.edges import Edge
from pipelines.domain.jobs import Job, Run
from pipelines.words import edges as words
from pipelines.words import migrations
from pipelines.words import verdicts as verdict_words


def hint(edge: Edge) -> str:
    """What is said of it on hover."""
    sentence = verdict_words.SENTENCES[edge.outcome] if edge.outcome is not None else words.NOT_CHECKED_HINT
    return " ".join([sentence, *words.lines(edge)])


def mark(edge: Edge | None) -> str:
    """The verdict as a chip; empty for a run of which nothing was kept."""
    return chip(words.briefly(edge), tone(edge), dot=True, hint=hint(edge)) if edge is not None else ""


def draw(run: Run, job: Job) -> None:
    """From where the run went on, with the verdict, why, and what was dropped or rewritten; nothing where that is not known."""
    edge = run.edge
    if edge is None:
        return
    st.html(f'<div class="tm-head"><span>{escape(words.origin(run, job))}</span>{mark(edge)}</div>')
    for part in edge.parts:
        message_box(verdict_words.subject(part), " ".join(part.reasons), tone=TONES[part.outcome], tag=part.outcome)
    if edge.migration is not None:
        message_box(f"Its state was migrated by {edge.migration.by}", " ".join(migrations.lines(edge.migration)), tone="blue")
