"""Disposing of savepoints: which, what is destroyed, what the disk gets back, what is refused and why; asked once."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import equivalents, formats, session
from dashboard.components import frames
from dashboard.dialogs import dialog
from dashboard.trust import LEVELS, level_of
from dashboard.views.commands import listed
from dashboard.views.savepoints.filters import past
from dashboard.widgets import errors_shown, facts, message_box
from pipelines.domain.disposals import Disposal, DisposeOutcome
from pipelines.domain.savepoints import Savepoint

MOST_ROWS = 8
SHARED = "Hard links: live checkpoints and savepoints that stay hold these files too, or several of those that go hold the same one"
FOR_GOOD = "Jobs that were forked from here go on: they have files of their own. This cannot be undone."


def ask(chosen: Sequence[Savepoint]) -> None:
    """Opens the preview of disposing of `chosen`."""
    title = "Dispose of this savepoint?" if len(chosen) == 1 else f"Dispose of {len(chosen)} savepoints?"

    @dialog(title, width="large")
    def preview() -> None:
        with errors_shown():
            _preview(chosen)

    preview()


def _preview(chosen: Sequence[Savepoint]) -> None:
    ids = [one.id for one in chosen]
    planned = session.workspace().dispose_many(ids, dry_run=True)
    going = [plan.savepoint for plan in planned.plans]
    _totals(planned)
    if going:
        frames.shown(
            frame([one for one in chosen if one.id in going], planned),
            name="to_dispose_of",
            key="disposing",
            column_config=_columns(),
            height="content" if len(going) <= MOST_ROWS else (MOST_ROWS + 1) * 35,
            alt="What would be disposed of",
        )
    for one in planned.refused:
        _refused(one, "stays")
    for words in cautions([one for one in chosen if one.id in going], session.workspace().savepoints(), session.now_ms()):
        message_box(words, tone="orange")
    st.caption(FOR_GOOD)
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        with st.popover("Command", icon=":material/terminal:", type="tertiary", key="dispose_command"):
            listed([equivalents.dispose(ids, session.url())])
        if st.button("Keep them" if len(ids) > 1 else "Keep it", key="dispose_no"):
            st.rerun()
        label = f"Dispose of {len(going)}" if len(ids) > 1 else "Dispose"
        yes = st.button(label, type="primary", icon=":material/delete:", key="dispose_yes", disabled=not going)
    if yes:
        _dispose(going, ids)


def _totals(planned: Disposal) -> None:
    shared = planned.bytes - planned.frees_bytes
    of = f" of {len(planned.outcomes):,}" if planned.refused else ""
    facts(
        [
            ("Goes", f"{len(planned.plans):,}{of} {'savepoint' if len(planned.plans) == 1 and not of else 'savepoints'}"),
            ("Deletes", f"{formats.plural(planned.files, 'file')}, {formats.size(planned.bytes)}"),
            ("Frees on disk", f"<strong>{escape(formats.size(planned.frees_bytes))}</strong>"),
            ("Shared", f'<span title="{SHARED}" data-hint="">{formats.size(shared)}</span>'),
        ]
    )


def frame(going: Sequence[Savepoint], planned: Disposal) -> pd.DataFrame:
    """One row for each that goes."""
    plans = {plan.savepoint: plan for plan in planned.plans}
    return pd.DataFrame(
        {
            "Savepoint": [one.id for one in going],
            "Job": [one.job for one in going],
            "Batch": [one.batch for one in going],
            "Label": [one.label for one in going],
            "Trust": [[level_of(one)] for one in going],
            "Size": [plans[one.id].bytes for one in going],
            "Frees alone": [plans[one.id].frees_bytes for one in going],
        }
    )


def _columns() -> dict[str, Any]:
    make = st.column_config
    return {
        "Batch": make.NumberColumn(format="localized"),
        "Trust": make.MultiselectColumn(options=list(LEVELS), color=[tone for _, tone in LEVELS.values()]),
        "Size": make.NumberColumn(format="bytes"),
        "Frees alone": make.NumberColumn(format="bytes", help="If it alone went; what several share among themselves is freed only by all"),
    }


def cautions(going: Sequence[Savepoint], every: Sequence[Savepoint], now_ms: float) -> list[str]:
    """What one may not have meant: dates that are still to come, jobs that are left without any savepoint."""
    early = sum(one.best_before_ms is not None and not past(one, now_ms) for one in going)
    ids = {one.id for one in going}
    bare = sorted({one.job for one in going} - {one.job for one in every if one.id not in ids})
    dates = "is not past its best-before date" if early == 1 else "are not past their best-before dates"
    said = [f"{early:,} of them {dates} yet." if len(going) > 1 else f"It {dates} yet."] if early else []
    return [
        *said,
        *(f"{job} has no savepoint left then." for job in bare[:3]),
        *([f"So have {len(bare) - 3} more jobs."] if bare[3:] else []),
    ]


def _refused(one: DisposeOutcome, verb: str) -> None:
    if one.refusal is not None:
        message_box(f"{one.savepoint} {verb}", f"{one.refusal.message}. {one.refusal.hint}", tone="orange", tag=one.refusal.code)


def _dispose(going: Sequence[str], asked: Sequence[str]) -> None:
    """Deletes them; what went wrong with any is said, and stays selected."""
    done = session.workspace().dispose_many(going)
    gone = {plan.savepoint for plan in done.plans}
    session.select(savepoint=",".join(one for one in asked if one not in gone))
    if not done.refused:
        st.rerun()
    message_box(f"{len(gone)} of {len(going)} were disposed of", f"{formats.size(done.frees_bytes)} came back.", tone="blue")
    for one in done.refused:
        _refused(one, "was not disposed of")
