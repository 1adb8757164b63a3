"""A table whose rows can be clicked: sorted in the browser, changed in place, so that a refresh moves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import streamlit as st

from dashboard import session
from dashboard.paging import Cut, turn
from dashboard.served import asset_url, module_loader
from dashboard.widgets import Tone
from pipelines.words import formats

# Streamlit takes text of a single line for a path; hence the comment.
_STYLE = f"""/* The table's look. */
@import url("{asset_url("table.css")}");
@import url("{asset_url("saving.css")}");
"""
_mount = st.components.v2.component("tidemark_table", js=module_loader("table.js"), css=_STYLE, isolate_styles=False)

T = TypeVar("T")
Unit = Literal["", "ms", "bytes", "rows/s", "time"]
"""What a number is in, as a download's column says it; a time is in epoch ms."""
_UNITS: Mapping[object, Unit] = {formats.duration: "ms", formats.size: "bytes", formats.rate: "rows/s"}


@dataclass(frozen=True)
class Column:
    """A column's head; `hint` on hover says what its numbers are."""

    name: str
    align: Literal["left", "right"] = "left"
    hint: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Cell:
    """One cell: `text` as it is shown, `sort` as it is ordered (the text itself where not given).

    With `tone` the text is a chip (`live` makes its dot beat), with `line` a small line stands there instead. A download holds
    `raw`; where it is not given the number that the cell is ordered by, in its `unit`, else the text. Of chips it holds the text.
    """

    text: str = formats.MISSING
    sort: float | str | None = None
    tone: Tone | None = None
    live: bool = False
    mono: bool = False
    strong: bool = False
    muted: bool = False
    hint: str = ""
    line: Sequence[float] = ()
    unit: Unit = ""
    raw: float | str | None = None

    def as_json(self) -> dict[str, Any]:
        fields = {
            "t": self.text, "s": self.sort, "c": self.tone, "live": self.live, "mono": self.mono, "b": self.strong, "m": self.muted,
            "h": self.hint, "l": _drawn(self.line), "r": self.raw,
        }  # fmt: skip
        return {name: value for name, value in fields.items() if value or (name in "sr" and value is not None)}


@dataclass(frozen=True)
class Row:
    """One row: what a click gives back, where a link leads, its cells."""

    id: str
    cells: Sequence[Cell]
    href: str = ""


@dataclass(frozen=True)
class Paged(Generic[T]):
    """The rows of a page of a longer list, as `made` makes them of its items; who saves them gets all."""

    cut: Cut[T]
    made: Callable[[Sequence[T]], Sequence[Row]]


@dataclass(frozen=True)
class Boxes:
    """A box on each row: `picked` are ticked already, `on_pick` is told which are whenever that changes."""

    picked: Sequence[str]
    on_pick: Callable[[Sequence[str]], None]


def table(
    columns: Sequence[Column],
    rows: Sequence[Row] | Paged[Any],
    *,
    key: str,
    label: str,
    selected: str = "",
    clickable: bool = True,
    max_height: int = 0,
    empty: str = "Nothing here",
    on_click: Callable[[], None] | None = None,
    boxes: Boxes | None = None,
) -> str | None:
    """Draws the rows and returns a row's id once, when it was clicked. Rows stand as given until somebody sorts a column.

    Those of a page of a longer list stand in its order; sorting a column or turning the page changes the address. `max_height` is in
    pixels of a screen with 1,000 of them; on a taller one the table grows.
    """
    paged = rows if isinstance(rows, Paged) else None
    data = {
        **table_data(columns, rows.made(rows.cut.items) if isinstance(rows, Paged) else rows),
        "selected": selected,
        "clickable": clickable,
        "maxHeight": max_height,
        "empty": empty,
        "label": label,
        "name": key,
        "zone": str(session.zone()),
        "cut": _cut(paged.cut) if paged else None,
        "whole": _whole(columns, paged, key) if paged else None,
        "picked": list(boxes.picked) if boxes else None,
    }
    asked: dict[str, Callable[[str], None]] = {}
    if paged:
        turns = partial(_turn, name=paged.cut.name)
        asked = {"order": turns, "page": turns, "save": _save}
    heard: dict[str, Any] = {f"on_{event}_change": partial(hears, key) for event, hears in asked.items()}
    if boxes:
        heard["on_pick_change"] = partial(_pick, key, boxes.on_pick)
    result = _mount(data=data, key=key, on_row_change=on_click or _ignore, **heard)
    return getattr(result, "row", None)


def table_data(columns: Sequence[Column], rows: Sequence[Row]) -> dict[str, Any]:
    """The columns and rows as the browser gets them."""
    return {
        "columns": [_head(column, [row.cells[place] for row in rows]) for place, column in enumerate(columns)],
        "rows": [{"id": row.id, "href": row.href, "cells": [cell.as_json() for cell in row.cells]} for row in rows],
    }


def _head(column: Column, cells: Sequence[Cell]) -> dict[str, Any]:
    """A column with what its cells are in; one of small lines is left out of downloads."""
    unit = next((cell.unit for cell in cells if cell.unit), "")
    lines = any(cell.line for cell in cells)
    return {"name": column.name, "right": column.align == "right", "hint": column.hint, "wide": column.wide, "unit": unit, "lines": lines}


def _cut(cut: Cut[Any]) -> dict[str, Any]:
    order = {"column": cut.order.column, "down": cut.order.down} if cut.order else None
    return {"first": cut.first, "total": cut.total, "page": cut.page, "pages": cut.pages, "order": order}


def _turn(key: str, name: str) -> None:
    state = st.session_state[key]
    turn(getattr(state, "order", None), getattr(state, "page", None), name)


def _pick(key: str, on_pick: Callable[[Sequence[str]], None]) -> None:
    picked = getattr(st.session_state[key], "pick", None)
    if picked is not None:
        on_pick([str(row) for row in picked])


def _save(key: str) -> None:
    kind = getattr(st.session_state[key], "save", None)
    if kind is not None:
        st.session_state[f"{key}_saving"] = kind
        st.session_state[f"{key}_saves"] = st.session_state.get(f"{key}_saves", 0) + 1


def _whole(columns: Sequence[Column], paged: Paged[Any], key: str) -> dict[str, Any] | None:
    """All rows, sent once for each download; `turn` counts the downloads."""
    kind = st.session_state.pop(f"{key}_saving", None)
    return {**table_data(columns, paged.made(paged.cut.whole)), "kind": kind, "turn": st.session_state[f"{key}_saves"]} if kind else None


def _drawn(line: Sequence[float]) -> list[int]:
    """A small line as heights from 0 to 100."""
    if len(line) < 2:
        return []
    top = max(max(line), 1e-9)
    return [round(100 * max(value, 0) / top) for value in line]


def moment(at_ms: float | None, now_ms: float) -> Cell:
    """A relative time with the exact one on hover, ordered by the moment."""
    return Cell() if at_ms is None else Cell(formats.ago(at_ms, now_ms), sort=at_ms, hint=formats.exact(at_ms, session.zone()), unit="time")


def number(value: float | None, shown: Callable[[float | None], str], *, hint: str = "", muted: bool = False) -> Cell:
    """A number in its form, ordered by its value; in a download it is in the unit that the form says."""
    return Cell(shown(value), sort=value, hint=hint, muted=muted, unit=_UNITS.get(shown, ""))


def shortened(name: str, *, strong: bool = False, muted: bool = False) -> Cell:
    """An id in its short form, whole on hover and in a download."""
    return Cell(formats.short_id(name), mono=True, strong=strong, muted=muted, hint=name, raw=name)


def clock(at_ms: float | None, zone: tzinfo, *, muted: bool = False) -> Cell:
    """The time of day, ordered by the moment, which stands on hover."""
    return Cell(formats.clock(at_ms, zone), sort=at_ms, muted=muted, hint=formats.exact(at_ms, zone), unit="time")


def _ignore() -> None:
    """A trigger needs a callback for its value to reach the page."""
