"""A chart as plain values, before anybody draws it: traces, legend, marks. No Streamlit, no Plotly.

Colours are names that the panel replaces with the theme's: `$c0` … `$c7` (categorical), `$text`, `$muted`, `$border`, `$bg`, `$red`.
Times are epoch ms; the panel shows them in the time zone of the page.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

BLUE, ORANGE, GREEN, VIOLET, RED, CYAN, PINK, GRAY = (f"$c{i}" for i in range(8))
Floats = NDArray[np.float64]
Numbers = Sequence[float | None] | NDArray[np.floating[Any]]


@dataclass(frozen=True)
class LegendEntry:
    """One name in the panel's head, with its last value already formatted."""

    name: str
    value: str = ""
    color: str = BLUE
    symbol: Literal["square", "circle", "diamond", "dash", "dots"] = "square"
    hint: str = ""
    """Said on hover; the name itself where there is none."""


@dataclass(frozen=True)
class TimeMark:
    """Something that happened, drawn across all charts of a page. A `savepoint` with an `id` can be clicked."""

    at_ms: float
    kind: Literal["version", "savepoint", "restart", "alert", "moment"]
    text: str = ""
    id: str = ""
    count: int = 1
    """How many stand at this place."""


@dataclass(frozen=True)
class Chart:
    """One panel's content. Without traces the panel shows `empty`; `summary` is what a screen reader says."""

    title: str
    traces: tuple[Mapping[str, Any], ...] = ()
    layout: Mapping[str, Any] = field(default_factory=dict)
    legend: tuple[LegendEntry, ...] = ()
    marks: tuple[TimeMark, ...] = ()
    empty: str = "No data yet"
    summary: str = ""
    height: int = 188
    """Of the plot below a legend of one line; what the legend takes more, the plot has less."""


def column(values: Numbers) -> Floats:
    """`values` as float64, None as NaN."""
    return np.asarray([np.nan if v is None else v for v in values] if not isinstance(values, np.ndarray) else values, dtype=np.float64)


def encoded(values: NDArray[np.floating[Any]]) -> dict[str, str]:
    """A typed array as Plotly reads it: little-endian bytes in base64, half the size of JSON numbers and no parsing."""
    kind = "f8" if values.dtype == np.float64 else "f4"
    return {"dtype": kind, "bdata": base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")}


def line(t: Floats, y: Floats, name: str, color: str, **more: Any) -> dict[str, Any]:
    """A line over time; x in float64 (epoch ms needs it), y in float32."""
    return {"type": "scatter", "mode": "lines", "name": name, "x": encoded(t), "y": encoded(y.astype(np.float32)), "color": color, **more}


def last(values: Floats) -> float | None:
    """The newest value there is."""
    present = values[np.isfinite(values)]
    return float(present[-1]) if len(present) else None


def holes_of(t: Floats) -> NDArray[np.intp]:
    """Gaps in `t` longer than five times the median step and than a minute: indexes of the first points after each gap."""
    if len(t) < 3:
        return np.asarray([], dtype=np.intp)
    steps = np.diff(t)
    return np.flatnonzero(steps > max(60_000.0, 5 * float(np.median(steps)))) + 1


def broken(t: Floats, values: Floats, holes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """A line that stops before each hole and begins again after it."""
    return np.insert(t, holes, t[holes] - 1), np.insert(values, holes, np.nan)


def emptied(t: Floats, values: Floats, holes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """An area that is nothing in each hole (Plotly fills across missing values, so zeros stand there)."""
    twice = np.repeat(holes, 2)
    edges = np.ravel(np.column_stack((t[holes - 1] + 1, t[holes] - 1)))
    return np.insert(t, twice, edges), np.insert(values, twice, 0.0)
