"""A comparison in shapes that can be drawn: shares, tables of examples, which two jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

import pandas as pd

from pipelines.domain.experiments import Parting
from pipelines.words import formats

PARTS = (("equal", "Equal"), ("changed", "Changed"), ("only_a", "Only in A"), ("only_b", "Only in B"))
"""Field of a comparison -> its name; in the order of the bar, and of the colours in the style sheet."""
TINTS = {"a.": "background-color: rgba(37, 99, 235, .16)", "b.": "background-color: rgba(245, 158, 11, .20)"}


@dataclass(frozen=True)
class Pair:
    """Two jobs that are looked at side by side."""

    a: str
    b: str


def pair(jobs: Sequence[str], a: str, b: str) -> Pair:
    """The two that the address names, where they are of `jobs`; else the first two, never one with itself."""
    first = a if a in jobs else jobs[0]
    second = b if b in jobs and b != first else next(job for job in jobs if job != first)
    return Pair(first, second)


class Counted(Protocol):
    """A comparison of two jobs, or a part of a replay."""

    @property
    def equal(self) -> int: ...
    @property
    def changed(self) -> int: ...
    @property
    def only_a(self) -> int: ...
    @property
    def only_b(self) -> int: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def examples(self) -> Mapping[str, Sequence[Mapping[str, Any]]]: ...


def whole(comparison: Counted) -> int:
    """The number of rows compared: a row with its key on both sides counts once."""
    return comparison.equal + comparison.changed + comparison.only_a + comparison.only_b


def share(part: int, of: int) -> str:
    """`98.2 %`; never 100 or 0 for what is not all or nothing."""
    if not of:
        return formats.MISSING
    percent = 100 * part / of
    if part not in (0, of):
        percent = min(max(percent, 0.1), 99.9)
    return f"{percent:.1f} %" if percent not in (0, 100) else f"{percent:.0f} %"


def bar(comparison: Counted) -> str:
    """The parts of the outputs as one stacked bar with its legend, as HTML."""
    total = whole(comparison)
    if not total:
        return ""
    counts = [(kind, name, int(getattr(comparison, kind))) for kind, name in PARTS]
    words = ", ".join(f"{name.lower()} {count:,}" for _, name, count in counts)
    pieces = "".join(
        f'<i class="{kind}" style="flex-grow:{count / total:.6f}" title="{name}: {count:,} rows"></i>'
        for kind, name, count in counts
        if count
    )
    legend = "".join(f'<span><i class="{kind}"></i>{name} <b>{count:,}</b></span>' for kind, name, count in counts)
    return (
        f'<div class="tm-shares" role="img" aria-label="Rows: {escape(words)}">{pieces}</div><div class="tm-shares-legend">{legend}</div>'
    )


def parting_table(parting: Parting) -> str:
    """The first rows that differ, a column of the output a column, as HTML; what differs is marked."""
    names = list(parting.a or parting.b or {})
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(_parting_row(side, own, other, names) for side, own, other in (("a", parting.a, parting.b), ("b", parting.b, parting.a)))
    drawn = f'<table class="tm-parting"><thead><tr><th>Side</th>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="tm-wide" tabindex="0" role="region" aria-label="First rows that differ">{drawn}</div>'


def parting_frame(parting: Parting) -> pd.DataFrame:
    """The same rows for a file; the first column says whose each is."""
    rows = [{"Side": side, **own} for side, own in (("A", parting.a), ("B", parting.b)) if own is not None]
    return pd.DataFrame(rows, dtype=object)


def _parting_row(side: str, own: Mapping[str, Any] | None, other: Mapping[str, Any] | None, names: Sequence[str]) -> str:
    mark = f'<th><span class="tm-side {side}">{side.upper()}</span></th>'
    if own is None:
        return f'<tr>{mark}<td colspan="{len(names)}">has no such row</td></tr>'
    differs = {name for name in names if other is not None and own.get(name) != other.get(name)}
    marked = f' class="{side}"'
    cells = (f"<td{marked if name in differs else ''}>{escape(_shown(own.get(name)))}</td>" for name in names)
    return f"<tr>{mark}{''.join(cells)}</tr>"


def _shown(value: Any) -> str:
    return formats.MISSING if value is None else str(value)


def examples_frame(comparison: Counted, kind: str) -> pd.DataFrame:
    """Rows of one kind; of changed ones the keys first, then each column as A has it beside what B has."""
    rows: Sequence[Mapping[str, Any]] = comparison.examples.get(kind, ())
    frame = pd.DataFrame([dict(row) for row in rows]).convert_dtypes()
    if frame.empty or kind != "changed":
        return frame
    pairs = [f"{side}.{name}" for name in comparison.columns for side in ("a", "b") if f"{side}.{name}" in frame.columns]
    keys = [name for name in frame.columns if name not in pairs]
    return frame[[*keys, *pairs]]


def tinted(frame: pd.DataFrame) -> Any:
    """The frame with the cells that differ in the colours of A and B."""
    return frame.style.apply(_tints, axis=0)


def _tints(column: pd.Series) -> list[str]:
    tint = TINTS.get(str(column.name)[:2], "")
    return [tint if pd.notna(value) else "" for value in column]
