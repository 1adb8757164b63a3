"""Disposing of savepoints: the list, the bytes that it deletes and frees, refusals with their reasons; asked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import once, session
from dashboard.components import frames
from dashboard.dialogs import answer, dialog
from dashboard.trust import TONES
from dashboard.views.commands import folded
from dashboard.views.savepoints.filters import past
from dashboard.widgets import errors_shown, facts, message_box
from pipelines.domain.disposals import Disposal, DisposeOutcome
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import formats, plans
from pipelines.words.savepoints import FREES, FULL, SIZE_HINTS, column
from pipelines.words.trust import best

MOST_ROWS = 8
SHARED = "Hard links: live checkpoints and savepoints that stay hold these files too, or several of those that go hold the same one"
FOR_GOOD = "Jobs that were forked from here go on: they have files of their own. This cannot be undone."


def ask(chosen: Sequence[Savepoint]) -> None:
    """Opens the preview of disposing of `chosen`."""
    title = f"Dispose of {formats.short_id(chosen[0].id)}" if len(chosen) == 1 else f"Dispose of {len(chosen)} savepoints"

    @dialog(title, width="large")
    def preview() -> None:
        with errors_shown():
            _preview(chosen)

    preview()


def _preview(chosen: Sequence[Savepoint]) -> None:
    ids = tuple(savepoint.id for savepoint in chosen)
    planned = session.workspace().plan(Dispose(ids))
    going = [plan.savepoint for plan in planned.plans]
    _totals(planned)
    if going:
        frames.shown(
            frame([savepoint for savepoint in chosen if savepoint.id in going], planned),
            name="to_dispose_of",
            key="disposing",
            column_config=_columns(),
            height="content" if len(going) <= MOST_ROWS else (MOST_ROWS + 1) * 35,
            alt="What would be disposed of",
        )
    for outcome in planned.refused:
        _refused(outcome, "stays")
    for words in cautions(
        [savepoint for savepoint in chosen if savepoint.id in going], session.workspace().ask(ListSavepoints()), session.now_ms()
    ):
        message_box(words, tone="orange")
    st.caption(FOR_GOOD)
    folded([Dispose(ids)])
    label = f"Dispose of {len(going)}" if len(ids) > 1 else "Dispose"
    if answer(label, "dispose", icon=":material/delete:", disabled=not going, danger=True):
        _dispose(going, ids)


def _totals(planned: Disposal) -> None:
    totals = dict(plans.disposal(planned))
    totals["frees on disk"] = f"<strong>{totals['frees on disk']}</strong>"
    totals["shared"] = f'<span title="{SHARED}" data-hint="">{totals["shared"]}</span>'
    facts([*totals.items()])


def frame(going: Sequence[Savepoint], planned: Disposal) -> pd.DataFrame:
    """A row for each savepoint that is disposed of."""
    by_savepoint = {plan.savepoint: plan for plan in planned.plans}
    return pd.DataFrame(
        {
            "Savepoint": [savepoint.id for savepoint in going],
            "Job": [savepoint.job for savepoint in going],
            "Batch": [column(savepoint) for savepoint in going],
            "Label": [savepoint.label for savepoint in going],
            "Trust": [[best(savepoint)] for savepoint in going],
            FULL: [by_savepoint[savepoint.id].bytes for savepoint in going],
            FREES: [by_savepoint[savepoint.id].frees_bytes for savepoint in going],
        }
    )


def _columns() -> dict[str, Any]:
    make = st.column_config
    return {
        "Trust": make.MultiselectColumn(options=list(TONES), color=list(TONES.values())),
        FULL: make.NumberColumn(format="bytes", help=SIZE_HINTS[FULL]),
        FREES: make.NumberColumn(
            format="bytes", help="Freed if this savepoint alone is deleted; bytes that several share are freed with the last of them"
        ),
    }


def cautions(going: Sequence[Savepoint], every: Sequence[Savepoint], now_ms: float) -> list[str]:
    """Warnings: best-before dates in the future, jobs without a savepoint afterwards."""
    early = sum(savepoint.best_before_ms is not None and not past(savepoint, now_ms) for savepoint in going)
    ids = {savepoint.id for savepoint in going}
    bare = sorted({savepoint.job for savepoint in going} - {savepoint.job for savepoint in every if savepoint.id not in ids})
    dates = "is not past its best-before date" if early == 1 else "are not past their best-before dates"
    warnings = [f"{early:,} of them {dates} yet." if len(going) > 1 else f"It {dates} yet."] if early else []
    return [
        *warnings,
        *(f"{job} has no savepoint left then." for job in bare[:3]),
        *([f"The same holds for {formats.plural(len(bare) - 3, 'more job')}."] if bare[3:] else []),
    ]


def _refused(outcome: DisposeOutcome, verb: str) -> None:
    if outcome.refusal is not None:
        message_box(
            f"{outcome.savepoint} {verb}", f"{outcome.refusal.message}. {outcome.refusal.hint}", tone="orange", tag=outcome.refusal.code
        )


def _dispose(going: Sequence[str], asked: Sequence[str]) -> None:
    """Disposes of them; those that failed are shown, and stay selected."""
    done = once.do(Dispose(tuple(going)))
    gone = {plan.savepoint for plan in done.plans}
    session.select(savepoint=",".join(name for name in asked if name not in gone))
    if not done.refused:
        st.rerun()
    message_box(f"Disposed of {plans.disposed(done)}", tone="blue")
    for outcome in done.refused:
        _refused(outcome, "was not disposed of")
