"""The doctor's diagnosis of a checkpoint or a savepoint: what is damaged, what depends on it, what can still be restored, what to do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

import pandas as pd
import streamlit as st

from dashboard import progress, session
from dashboard.components.frames import save_buttons
from dashboard.widgets import chip, error_box, message_box, with_code
from pipelines.domain.diagnosis import Diagnosis, Finding
from pipelines.domain.errors import TidemarkError
from pipelines.domain.operations import OperationState
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.operations import ShowOperation
from pipelines.words import diagnoses, formats, pace
from pipelines.words.pace import Sample

LOOK_S = 0.3
MOST = 12
"""Findings that are listed; the rest is counted."""


def examine(subject: str, stamp: object) -> Sequence[Diagnosis] | None:
    """The doctor's diagnoses, computed once for each `stamp` (the version of the subject) and kept for the session. None where that failed;
    the error is shown."""
    key = f"diagnosis_{subject}"
    kept = st.session_state.get(key)
    if kept is None or kept[0] != stamp:
        try:
            kept = (stamp, _looked(subject))
        except TidemarkError as error:
            error_box(error)
            return None
        st.session_state[key] = kept
    every: Sequence[Diagnosis] = kept[1]
    return every


def _looked(subject: str) -> Sequence[Diagnosis]:
    """Runs the doctor and shows a progress bar until it is done. The operation goes on if the page is left."""
    workspace, place = session.workspace(), st.empty()
    begun = workspace.begin(Diagnose(subject))
    samples: Sequence[Sample] = ()
    operation = begun.operation
    while operation is not None and operation.state is OperationState.RUNNING:
        samples = pace.sampled(samples, operation.amount, session.now_ms())
        place.html(progress.bar(operation, samples, session.now_ms()))
        time.sleep(LOOK_S)
        operation = workspace.ask(ShowOperation(operation.id))
    place.empty()
    return workspace.answer(begun)


def examined(subject: str) -> bool:
    """Whether this session has a diagnosis of it."""
    return f"diagnosis_{subject}" in st.session_state


def draw(every: Sequence[Diagnosis]) -> None:
    """One part a query: what was read, what is damaged, what can be restored, the advice."""
    for diagnosis in every:
        st.html(_head(diagnosis))
        if diagnosis.findings:
            st.html(findings(diagnosis.findings))
            save_buttons(findings_frame(diagnosis.findings), name=f"damage_{diagnosis.query}", key=f"damage_{diagnosis.query}")
            message_box("What to do", diagnosis.advice, tone="blue")
        else:
            st.html(f'<p class="tm-hint">{with_code(diagnosis.advice)}</p>')


def _head(diagnosis: Diagnosis) -> str:
    badge = (
        chip("sound", "green", dot=True)
        if diagnosis.sound
        else chip(formats.plural(len(diagnosis.findings), "damaged file"), "red", dot=True)
    )
    facts = "".join(f"<span>{name}: <b>{escape(value)}</b></span>" for name, value in diagnoses.facts(diagnosis))
    return f'<div class="tm-head tm-sub"><h2>{escape(diagnosis.query)}</h2>{badge}</div><div class="tm-line tm-flush">{facts}</div>'


def findings(damaged: Sequence[Finding]) -> str:
    """Damaged files as a table of HTML: what of the checkpoint, what is wrong, which batches need it, the file."""
    rows = "".join(_row(*row) for row in diagnoses.findings(damaged[:MOST]))
    more = f'<tr><td colspan="4">and {len(damaged) - MOST:,} more</td></tr>' if len(damaged) > MOST else ""
    head = "".join(f"<th>{title}</th>" for title in diagnoses.FINDINGS if title != "What")
    return f'<table class="tm-findings"><thead><tr>{head}</tr></thead><tbody>{rows}{more}</tbody></table>'


def findings_frame(damaged: Sequence[Finding]) -> pd.DataFrame:
    """All of them, a row each, for a file."""
    return pd.DataFrame(diagnoses.findings(damaged), columns=list(diagnoses.FINDINGS))


def _row(part: str, damage: str, what: str, batches: str, file: str) -> str:
    return (
        f"<tr><td>{escape(part)}</td><td>{chip(damage, 'red')} <span>{escape(what)}</span></td>"
        f'<td>{escape(batches)}</td><td class="tm-mono">{escape(file)}</td></tr>'
    )
