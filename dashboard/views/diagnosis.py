"""The doctor's word on a checkpoint or a savepoint: what is damaged, what depends on it, what can still be restored, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from html import escape

import pandas as pd
import streamlit as st

from dashboard import formats, progress, session
from dashboard.components.frames import save_buttons
from dashboard.progress import Sample
from dashboard.widgets import chip, error_box, message_box
from pipelines.domain.diagnosis import Diagnosis, Finding
from pipelines.domain.errors import TidemarkError

KINDS = {
    "missing": "missing",
    "size": "of another size",
    "checksum": "changed",
    "unreadable": "unreadable",
    "state": "refused by Spark",
}
LOOK_S = 0.3
MOST = 12
"""Findings that are listed; the rest is counted."""


def examine(subject: str, stamp: object) -> Sequence[Diagnosis] | None:
    """What the doctor finds; asked once for each `stamp` (what the subject was when it was looked at), kept while the session lasts.
    None where it could not look, which is said."""
    key = f"diagnosis_{subject}"
    kept = st.session_state.get(key)
    if kept is None or kept[0] != stamp:
        try:
            kept = (stamp, _looked(subject))
        except TidemarkError as error:
            error_box(error)
            return None
        st.session_state[key] = kept
    found: Sequence[Diagnosis] = kept[1]
    return found


def _looked(subject: str) -> Sequence[Diagnosis]:
    """The doctor's word, awaited beside a bar that says how far the reading is. Whoever goes elsewhere meanwhile leaves it going on."""
    workspace, place = session.workspace(), st.empty()
    samples: Sequence[Sample] = ()
    pool = ThreadPoolExecutor(1)
    answer = pool.submit(workspace.diagnose, subject)
    pool.shutdown(wait=False)
    while not answer.done():
        for one in workspace.operations(running=True):
            if one.kind == progress.DIAGNOSE and subject in (one.job, one.subject):
                samples = progress.sampled(samples, one.amount, session.now_ms())
                place.html(progress.bar(one, samples, session.now_ms()))
        wait([answer], timeout=LOOK_S)
    place.empty()
    return tuple(answer.result())


def examined(subject: str) -> bool:
    """Whether the doctor has looked at it in this session."""
    return f"diagnosis_{subject}" in st.session_state


def draw(every: Sequence[Diagnosis]) -> None:
    """One part a query: what was read, what is damaged, what can be restored, the advice."""
    for one in every:
        st.html(_head(one))
        if one.findings:
            st.html(findings(one.findings))
            save_buttons(findings_frame(one.findings), name=f"damage_{one.query}", key=f"damage_{one.query}")
            message_box("What to do", one.advice, tone="blue")
        else:
            st.html(f'<p class="tm-hint">{escape(one.advice)}</p>')


def _head(one: Diagnosis) -> str:
    badge = chip("sound", "green", dot=True) if one.sound else chip(formats.plural(len(one.findings), "damaged file"), "red", dot=True)
    newest = f"newest committed batch {one.newest_committed:,}" if one.newest_committed is not None else "no committed batch"
    read = f"{formats.plural(one.files, 'file')}, {formats.size(one.bytes)} read"
    can = f"can be restored: <b>{escape(_batches(one))}</b>"
    return (
        f'<div class="tm-head tm-sub"><h2>{escape(one.query)}</h2>{badge}</div>'
        f'<div class="tm-line tm-flush"><span>{read}</span><span>{newest}</span><span>{can}</span></div>'
    )


def _batches(one: Diagnosis) -> str:
    if not one.restorable:
        return "no batch"
    return f"{'batch' if len(one.restorable) == 1 else 'batches'} {formats.ranges(one.restorable)}"


def findings(found: Sequence[Finding]) -> str:
    """Damaged files as a table of HTML: what of the checkpoint, what is wrong, which batches need it, the file."""
    rows = "".join(_row(one) for one in found[:MOST])
    more = f'<tr><td colspan="4">and {len(found) - MOST:,} more</td></tr>' if len(found) > MOST else ""
    head = "".join(f"<th>{title}</th>" for title in ("Part", "Damage", "Batches that need it", "File"))
    return f'<table class="tm-findings"><thead><tr>{head}</tr></thead><tbody>{rows}{more}</tbody></table>'


def findings_frame(found: Sequence[Finding]) -> pd.DataFrame:
    """All of them, a row each, for a file."""
    rows = [(one.part, one.damage.kind, one.damage.message, formats.ranges(one.batches), one.damage.path) for one in found]
    return pd.DataFrame(rows, columns=["Part", "Damage", "What", "Batches that need it", "File"])


def _row(one: Finding) -> str:
    damage = one.damage
    said = chip(KINDS.get(damage.kind, damage.kind), "red")
    return (
        f"<tr><td>{escape(one.part)}</td><td>{said} <span>{escape(damage.message)}</span></td>"
        f'<td>{escape(formats.ranges(one.batches))}</td><td class="tm-mono">{escape(damage.path)}</td></tr>'
    )
