"""Two points and what differs between them: which two, their code, and each section of the rest that is not the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from dashboard import session
from dashboard.components.code_editor import code_editor
from dashboard.components.frames import save_buttons
from dashboard.views.commands import commands
from dashboard.views.versions import plans
from dashboard.widgets import chip, errors_shown
from pipelines.domain.differences import Differences, Entry, Outcome, Section, Unit, Value
from pipelines.domain.points import PointHead, PointKind
from pipelines.verbs.experiments import Diff
from pipelines.words import formats

if TYPE_CHECKING:
    import pandas as pd

TITLES = {
    "arguments": "Arguments",
    "confs": "Spark confs",
    "runtime": "Runtime",
    "pinned confs": "Confs pinned by the checkpoint",
    "progress": "Batches and watermark",
    "sources": "Source offsets",
    "state": "State",
    "sinks": "Sinks",
}


def draw(a: str, b: str) -> None:
    """The card of the comparison; what refuses it is shown in its place."""
    with st.container(border=True, key="card_difference"):
        with errors_shown():
            differences = session.workspace().ask(Diff(a, b))
            _head(differences, a, b)
            _code(differences)
            plans.draw(differences.plans, a, b)
            _sections(differences, bool(st.session_state.get("difference_whole", False)))
            _rest(differences)
            return
        _clear()


def _head(differences: Differences, a: str, b: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="difference_head"):
        words = f"Comparing {side('A', differences.a)} with {side('B', differences.b)}"
        st.html(f'<div class="tm-head tm-comparing" data-testid="comparing">{words}</div>', width="stretch")
        st.toggle("All values", key="difference_whole", help="Also show what is the same")
        commands([Diff(a, b)], key="difference_command")
        if st.button("Swap", icon=":material/swap_horiz:", key="difference_swap"):
            session.select(savepoint=b, **{"with": a})
            st.rerun()
        _clear()
    st.caption(f"A: {_about(differences.a)}  \nB: {_about(differences.b)}")


def _clear() -> None:
    if st.button("Clear", icon=":material/close:", key="difference_clear"):
        session.select(savepoint="", **{"with": ""})
        st.rerun()


def side(letter: str, point: PointHead) -> str:
    """`A sp-1a2b3c4d` with its letter in its colour, as HTML."""
    mark = f'<span class="tm-side {letter.lower()}">{letter}</span>'
    return f"{mark}{chip(point.named, mono=True)}"


def _about(point: PointHead) -> str:
    of = f"of {point.job}"
    what = {
        PointKind.SAVEPOINT: f"a savepoint {of}",
        PointKind.JOB: "the job" if point.note else "the job as it is now",
        PointKind.RUN: f"a run {of}",
    }
    batch = f", batch {point.batch:,}" if point.batch is not None else ""
    label = f", {point.label}" if point.label else ""
    note = f". {point.note}" if point.note else ""
    return f"{what.get(point.kind, 'a version')}{batch}{label}, version {formats.short_id(point.version)}, {point.script}{note}"


def _code(differences: Differences) -> None:
    """The script's difference, or that of the file beside it that is chosen."""
    changed = {code.path: code for code in (differences.code, *differences.files) if code.unified}
    if not changed:
        return
    scripts = differences.a.script if differences.a.script == differences.b.script else f"{differences.a.script} → {differences.b.script}"
    names = {path: path or scripts for path in changed}
    key = f"difference_{differences.a.version}_{differences.b.version}"
    with st.container(horizontal=True, vertical_alignment="center", key="difference_code"):
        slot = st.container(width="stretch")
        path = next(iter(changed))
        if len(changed) > 1:
            path = st.selectbox(
                "File", list(changed), format_func=names.__getitem__, key=f"{key}_file", label_visibility="collapsed", width=320
            )
    code = changed[path]
    lines = chip(f"+{code.added}", "green", mono=True) + chip(f"−{code.removed}", "red", mono=True)
    slot.html(f'<div class="tm-section"><h2>Code</h2>{lines}<span class="tm-caption">{escape(names[path])}</span></div>')
    if code.path and not (code.a or code.b):
        st.caption(f"{path} differs, and is no text.")
        return
    code_editor(
        code.b,
        key=key + f"_{path}" * bool(path),
        original=code.a,
        mode="split",
        readonly=True,
        collapse=True,
        height=380,
        label="The code of both",
        script=path or differences.b.script,
    )


def _sections(differences: Differences, whole: bool) -> None:
    shown = [(TITLES.get(section.name, section.name), section.entries if whole else section.differing) for section in differences.sections]
    if any(entries for _, entries in shown):
        st.html(entries_table(shown, session.zone()))
        save_buttons(entries_frame(shown, session.zone()), name=f"difference_{differences.a.named}_{differences.b.named}", key="difference")


def _rest(differences: Differences) -> None:
    """Quietly, what is the same, and what could not be compared."""
    same = ["code"] if not (differences.code.unified or differences.files) else []
    same += [_quiet(section) for section in differences.sections if section.compared and not section.differing]
    unknown = [_quiet(section) for section in differences.sections if not section.compared]
    if same:
        st.caption(f"The same: {', '.join(same)}.")
    if unknown:
        st.caption(f"Not compared, because one side has no checkpoint: {', '.join(unknown)}.")


def _quiet(section: Section) -> str:
    """A section's title inside a sentence."""
    title = TITLES.get(section.name, section.name)
    return title if title.startswith("Spark") else title[:1].lower() + title[1:]


def entries_table(sections: Sequence[tuple[str, Sequence[Entry]]], zone: tzinfo) -> str:
    """Sections (title, entries) as one table in HTML, each entry under what it is of; what differs is marked."""
    rows, of = "", ("", "")
    for title, entries in sections:
        for entry in entries:
            if (title, entry.of) != of:
                of = (title, entry.of)
                note = f'<span class="tm-caption">{escape(entry.of)}</span>' if title and entry.of else escape(entry.of)
                rows += f'<tr class="of"><th colspan="4">{escape(title)}{note}</th></tr>' if title or entry.of else ""
            rows += _row(entry, zone)
    heads = "<th>Property</th><th>A</th><th>B</th><th>B − A</th>"
    drawn = f'<table class="tm-both tm-apart"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="tm-wide" tabindex="0" role="region" aria-label="What differs">{drawn}</div>'


def entries_frame(sections: Sequence[tuple[str, Sequence[Entry]]], zone: tzinfo) -> pd.DataFrame:
    """A row an entry, for a file: whole numbers as they are, moments in the zone."""
    import pandas as pd

    rows = [
        (title, entry.of, entry.name, entry.outcome.value, entry.unit.value, *_plain(entry, zone), entry.apart)
        for title, entries in sections
        for entry in entries
    ]
    return pd.DataFrame(rows, columns=["Section", "Of", "Name", "Outcome", "Unit", "A", "B", "B − A"], dtype=object)


def _plain(entry: Entry, zone: tzinfo) -> tuple[Value, Value]:
    if entry.unit is not Unit.MOMENT:
        return entry.a, entry.b
    a, b = (formats.exact(value, zone) if isinstance(value, int) else value for value in (entry.a, entry.b))
    return a, b


def _row(entry: Entry, zone: tzinfo) -> str:
    kind = "" if entry.outcome in (Outcome.SAME, Outcome.UNKNOWN) else ' class="differs"'
    a, b = _value(entry.a, entry, Outcome.ONLY_B, zone), _value(entry.b, entry, Outcome.ONLY_A, zone)
    return f"<tr{kind}><th>{escape(entry.name)}</th><td>{a}</td><td>{b}</td><td>{escape(apart_words(entry))}</td></tr>"


def _value(value: Value, entry: Entry, absent: Outcome, zone: tzinfo) -> str:
    if value is None:
        return formats.MISSING if entry.outcome is absent else '<span class="tm-caption">not known</span>'
    return escape(value_words(value, entry.unit, zone)) or '<span class="tm-caption">given</span>'


def value_words(value: Value, unit: Unit, zone: tzinfo) -> str:
    """A value in its unit."""
    if not isinstance(value, int):
        return str(value)
    if unit is Unit.MOMENT:
        return formats.exact(value, zone)
    return {Unit.BYTES: formats.size, Unit.COUNT: formats.count}.get(unit, str)(value)


def apart_words(entry: Entry) -> str:
    """The difference B − A: `+12`, `−1.2 MB`, `+4m 10s`; empty where there is none."""
    if not entry.apart:
        return ""
    words = {Unit.BYTES: formats.size, Unit.MOMENT: formats.duration}.get(entry.unit, formats.count)(abs(entry.apart))
    return f"{'+' if entry.apart > 0 else '−'}{words}"


def pick(savepoints: dict[str, str], jobs: list[str], chosen: str) -> None:
    """The choice of the second point: another savepoint (id -> its words), or a job as it is now."""
    others = [*(savepoint for savepoint in savepoints if savepoint != chosen), *(job for job in jobs if job != chosen)]
    picked = st.selectbox(
        "Compare with",
        others,
        index=None,
        format_func=lambda name: savepoints.get(name, f"{name} · as it is now"),
        placeholder="Compare with… (or click a second mark)",
        key=f"versions_with_{chosen}",
        label_visibility="collapsed",
    )
    if picked:
        session.select(**{"with": picked})
        st.rerun()
