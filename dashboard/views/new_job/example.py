"""What a job of the gallery does: its picture, the input that it needs, and what its second version does to the state."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import gallery, permitted
from dashboard.drawing import pictures
from dashboard.drawing.verdicts import TONES
from dashboard.views import changes
from dashboard.views.new_job import form
from dashboard.views.new_job.form import Draft
from dashboard.widgets import chip, section
from pipelines.domain.access import Role
from pipelines.domain.collection import Example
from pipelines.verbs.system import StartExample
from pipelines.words import verdicts as words

GENERATE, MAKING = "generate_input", "new_job_input"


def draw(draft: Draft) -> None:
    """Nothing for what is no job of the collection."""
    example = gallery.example(draft.script)
    if example is None:
        return
    with st.container(border=True, key="card_example"):
        section("What it does")
        first = gallery.from_gallery(example.scripts[0])
        st.html(pictures.html(example.name, first.title))
        st.html(f'<p class="tm-caption-line">{escape(gallery.from_gallery(draft.script).title)}</p>')
        _input(example)
        _second(example)


def _input(example: Example) -> None:
    """Where its input comes from; the button fills the form's arguments as soon as there is some."""
    streams = " and ".join(example.inputs)
    if form.made(example.generator):
        st.html(f'<p class="tm-caption-line">It reads {escape(streams)}, which the job <code>{escape(example.generator)}</code> makes.</p>')
        return
    help = f"Starts the job {example.generator}, which makes {streams}: the same rows for the same seed."
    if permitted.button("Generate its input", Role.AUTHOR, icon=":material/water_drop:", key=GENERATE, help=help):
        is_made = changes.ask(MAKING, StartExample(example.name, inputs_only=True), f"{example.generator} was begun") is not None
    else:
        is_made = changes.answered(MAKING) is not None
    if is_made:
        form.fill_again()


def _second(example: Example) -> None:
    """Its second version with the verdict on it."""
    verdict = chip(example.outcome, TONES[example.outcome], dot=True, hint=words.SENTENCES[example.outcome])
    does = gallery.from_gallery(example.scripts[1]).title.partition(". ")[0]
    st.html(
        f'<p class="tm-caption-line">Second version <code>{escape(example.scripts[1])}</code> {verdict}<br>{escape(does.rstrip("."))}. '
        "Fork a savepoint with it to see both side by side.</p>"
    )
