"""A film strip whose frames can be clicked: savepoints as cards in time, retained batches as thin frames between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

import streamlit as st

from dashboard.drawing.film import Frame, Piece, Stretch, ThinFrame, state_bytes
from dashboard.served import asset_url, module_loader
from dashboard.trust import TONES
from pipelines.domain.ids import SavepointId
from pipelines.domain.space import SavepointSpace
from pipelines.words import formats

# Streamlit takes text of a single line for a path; hence the comment.
_STYLE = f"""/* The strip's look. */
@import url("{asset_url("film.css")}");
"""
_mount = st.components.v2.component("tidemark_film", js=module_loader("film.js"), css=_STYLE, isolate_styles=False)


def film_strip(
    pieces: Sequence[Piece], spaces: Mapping[SavepointId, SavepointSpace], zone: tzinfo, *, key: str, selected: str
) -> str | None:
    """Draws the strip and returns the id of what was clicked, once: a savepoint, or `query:batch` of a thin frame."""
    data = {"name": key, "selected": selected, "pieces": [_piece(piece, spaces, zone) for piece in pieces]}
    result = _mount(data=data, key=key, on_click_change=_ignore)
    return getattr(result, "click", None)


def _piece(piece: Piece, spaces: Mapping[SavepointId, SavepointSpace], zone: tzinfo) -> dict[str, Any]:
    return _frame(piece, spaces, zone) if isinstance(piece, Frame) else _stretch(piece, zone)


def _frame(frame: Frame, spaces: Mapping[SavepointId, SavepointSpace], zone: tzinfo) -> dict[str, Any]:
    newest = frame.newest
    return {
        "id": newest.id,
        "batch": f"{newest.batch:,}",
        "time": formats.clock(newest.queries[0].batch_timestamp_ms, zone),
        "label": newest.label,
        "trust": frame.trust,
        "tone": TONES[frame.trust],
        "size": formats.size(state_bytes(newest, spaces)),
        "fresh": f"{formats.size(newest.new_bytes)} new",
        "count": len(frame.savepoints),
        "hint": "\n".join(f"{savepoint.id} {savepoint.label}".strip() for savepoint in frame.savepoints),
    }


def _stretch(stretch: Stretch, zone: tzinfo) -> dict[str, Any]:
    return {"changes": list(stretch.changes), "thin": [_thin(shot, zone) for shot in stretch.thin]}


def _thin(shot: ThinFrame, zone: tzinfo) -> dict[str, str]:
    return {"id": shot.id, "hint": f"{shot.words} · {formats.clock(shot.batch.timestamp_ms, zone)}"}


def _ignore() -> None:
    """A trigger needs a callback for its value to reach the page."""
