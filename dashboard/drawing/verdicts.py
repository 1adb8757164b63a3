"""The colours of verdicts, the same on every page and in pictures. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dashboard.drawing.figures import GRAY, GREEN, ORANGE
from pipelines.domain.edges import Edge
from pipelines.domain.verdicts import Outcome

Tone = Literal["green", "orange", "gray", "red"]
TONES: Mapping[Outcome, Tone] = {
    Outcome.SAME: "green",
    Outcome.PARTLY_KEPT: "orange",
    Outcome.CHANGED_MEANING: "orange",
    Outcome.CANNOT_TELL: "gray",
    Outcome.NEEDS_REWRITING: "red",
    Outcome.CANNOT_START: "red",
}
COLORS: Mapping[Tone, str] = {"green": GREEN, "orange": ORANGE, "gray": GRAY, "red": "$red"}
"""Tone -> its colour in a picture."""


def tone(edge: Edge) -> Tone:
    """The tone of an edge; state that had to be rewritten, and was, is no trouble any more."""
    if edge.outcome is None or (edge.outcome is Outcome.NEEDS_REWRITING and edge.migration is not None):
        return "gray" if edge.migration is None else "orange"
    return TONES[edge.outcome]


def color(edge: Edge) -> str:
    """The same in a picture."""
    return COLORS[tone(edge)]
