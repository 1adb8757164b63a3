"""Key figures: a grid of the numbers that matter, each with a note and a small line of its past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

import streamlit as st

from dashboard.widgets import Tone, chip


@dataclass(frozen=True)
class KeyFigure:
    """One number that matters: `unit` small beside it, `note` below (with `tone`, as a chip), `line` as a small line of the past."""

    label: str
    value: str
    unit: str = ""
    note: str = ""
    tone: Tone | None = None
    line: Sequence[float | None] = ()
    hint: str = ""
    href: str = ""
    """Where its note leads: the job that it names."""


def key_figures(figures: Sequence[KeyFigure], *, min_width: int = 170) -> None:
    """A grid of key figures that wraps with the page's width. One element of HTML: a refresh costs next to nothing."""
    lined = any(len(figure.line) > 1 for figure in figures)
    cards = "".join(_card(figure, lined) for figure in figures)
    st.html(f'<div class="tm-figures" style="--tm-figure-width:{min_width}px" data-testid="key-figures">{cards}</div>')


def _card(figure: KeyFigure, lined: bool) -> str:
    unit = f"<small>{escape(figure.unit)}</small>" if figure.unit else ""
    note = chip(figure.note, figure.tone) if figure.note and figure.tone else f"<span>{escape(figure.note)}</span>"
    if figure.href:
        note = f'<a class="tm-plain" href="{escape(figure.href)}" target="_self">{note}</a>'
    hint = f' title="{escape(figure.hint)}" data-hint=""' if figure.hint else ""
    return (
        f'<div class="tm-figure {figure.tone or "blue"}{" lined" if lined else ""}" role="group" aria-label="{escape(figure.label)}"{hint}>'
        f'<div class="tm-label">{escape(figure.label)}</div><div class="tm-value">{escape(figure.value)}{unit}</div>'
        f'<div class="tm-note">{note}</div>{spark(figure.line)}</div>'
    )


def spark(values: Sequence[float | None]) -> str:
    """A small line with its area, from zero to the greatest value; nothing for fewer than two numbers.

    The line is a mask over the card's colour, because Streamlit's HTML takes no inline SVG.
    """
    points = [(i, v) for i, v in enumerate(values) if v is not None]
    if len(points) < 2:
        return ""
    width, top = len(values) - 1, max(max(v for _, v in points), 1e-9)
    path = " L".join(f"{100 * i / width:.2f} {35 - 32 * v / top:.2f}" for i, v in points)
    first, final = 100 * points[0][0] / width, 100 * points[-1][0] / width
    drawn = quote(_SPARK.format(path=path, first=f"{first:.2f}", final=f"{final:.2f}"))
    return f'<div class="tm-spark" style="mask-image:url(&quot;data:image/svg+xml,{drawn}&quot;)"></div>'


_SPARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 38" preserveAspectRatio="none">'
    '<path fill-opacity=".13" d="M{first} 38 L{path} L{final} 38 Z"/>'
    '<path fill="none" stroke="black" stroke-width="1.6" stroke-linejoin="round" vector-effect="non-scaling-stroke" d="M{path}"/></svg>'
)
