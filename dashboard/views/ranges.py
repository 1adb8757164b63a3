"""The stretch of time that a job's charts are of: the last minutes, or one that somebody brushed, which stands in the address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import session
from dashboard.views.live import range_switch
from dashboard.widgets import error_box
from pipelines.domain.bounds import LATEST_MS
from pipelines.domain.errors import Invalid
from pipelines.domain.stretches import HINT, stretch
from pipelines.words import formats

SHORTEST_MS = 1_000
EXAMPLE = "yesterday 03:10–03:30"
DRAG = "Drag across a chart to choose a range; click a point for its batch"
ENDED = "Until the run ended; drag to choose a range, click for a batch"
_TYPED, _REFUSED = "range_words", "range_refused"


@dataclass(frozen=True)
class Span:
    """From when to when, epoch ms; `chosen` where the address says so, `ended` where it ends with a run: both stay as time goes on."""

    from_ms: float
    to_ms: float
    chosen: bool = False
    ended: bool = False

    @property
    def ranged(self) -> str:
        """As the charts say what was brushed; empty for the last minutes."""
        return f"{self.from_ms:.0f}_{self.to_ms:.0f}" if self.chosen else ""

    def moved(self, lengths: float) -> Span:
        """The stretch so many of its lengths later."""
        away = lengths * (self.to_ms - self.from_ms)
        return Span(self.from_ms + away, self.to_ms + away, self.chosen)


def chosen() -> Span | None:
    """The stretch in the address; None where there is none, or none that can be read."""
    begin, end = ends()
    return Span(begin, end, True) if begin is not None and end is not None and end - begin >= SHORTEST_MS else None


def ends() -> tuple[float | None, float | None]:
    """From when to when the address says, each by itself; None where it says none, or none that can be read."""
    return _read(session.selected("from")), _read(session.selected("to"))


def brushed(ranged: str) -> None:
    """Puts what was brushed (`FROM_TO`, empty for nothing) into the address."""
    ends = [float(end) for end in ranged.split("_")] if ranged else []
    choose(Span(ends[0], max(ends[1], ends[0] + SHORTEST_MS), True) if ends else None)


def choose(span: Span | None) -> None:
    """Puts the stretch into the address; None takes it away. A list over another stretch begins at its first page."""
    session.select(**{"from": _written(span.from_ms) if span else "", "to": _written(span.to_ms) if span else "", "page": "", "before": ""})


def bar(span: Span) -> tuple[bool, DeltaGenerator]:
    """Says which stretch is shown and leads to those around it; whether the day before is to be drawn beside it, and the place for what
    can be done with the charts, which are drawn later (`hint`)."""
    with st.container(horizontal=True, vertical_alignment="center", key="span_bar"):
        if not span.chosen:
            range_switch()
        field()
        if span.chosen:
            st.html(f'<span class="tm-span" data-testid="span">{words(span, session.zone())}</span>', width="content")
            for label, key, lengths, icon in (("Earlier", "span_before", -1, "chevron_left"), ("Later", "span_behind", 1, "chevron_right")):
                there = span.moved(lengths)
                st.button(label, key=key, icon=f":material/{icon}:", type="tertiary", on_click=choose, args=(there,))
            st.button("Back to now", key="span_now", icon=":material/update:", type="tertiary", on_click=choose, args=(None,))
        place = st.container(width="content")
        st.space("stretch")
        beside = st.toggle("Beside the day before", key="yesterday", bind="query-params")
    refused()
    return beside, place


def hint(span: Span, place: DeltaGenerator) -> None:
    """Says there how a chart is used; nothing where a stretch is chosen already."""
    if not span.chosen:
        place.html(f'<span class="tm-hint">{ENDED if span.ended else DRAG}</span>', width="content")


def field() -> None:
    """The box for a range in words; what it understands goes into the address."""
    st.text_input(
        "Range in words", key=_TYPED, placeholder=EXAMPLE, icon=":material/date_range:", label_visibility="collapsed", width=250,
        help=HINT, on_change=_read_words,
    )  # fmt: skip


def refused() -> None:
    """Why the words in the box are no range."""
    error = st.session_state.get(_REFUSED)
    if error is not None:
        error_box(error)


def _read_words() -> None:
    """Chooses what was typed, and empties the box; words that are no range stay in it, with the reason below."""
    st.session_state[_REFUSED] = None
    words = st.session_state[_TYPED].strip()
    if not words:
        return
    try:
        begin, end = stretch(words, datetime.fromtimestamp(session.now_ms() / 1_000, session.zone()))
    except Invalid as error:
        st.session_state[_REFUSED] = error
        return
    st.session_state[_TYPED] = ""
    choose(Span(begin.timestamp() * 1_000, end.timestamp() * 1_000, True))


def words(span: Span, zone: tzinfo) -> str:
    """`2026-11-21 03:10:00 – 03:30:00 CET · 20m 00s`."""
    begin, end = formats.exact(span.from_ms, zone), formats.exact(span.to_ms, zone)
    same_day = begin[:10] == end[:10]
    return f"{begin[:19]} – {end[11:] if same_day else end} · {formats.duration(span.to_ms - span.from_ms)}"


def said(from_ms: float | None, to_ms: float | None, zone: tzinfo) -> str:
    """A stretch of which one end may be open: `since 2026-11-21 03:10:00 CET`."""
    if from_ms is not None and to_ms is not None:
        return words(Span(from_ms, to_ms), zone)
    return f"since {formats.exact(from_ms, zone)}" if from_ms is not None else f"until {formats.exact(to_ms, zone)}"


def _read(text: str) -> float | None:
    try:
        at = datetime.fromisoformat(text)
        at_ms = (at if at.tzinfo else at.replace(tzinfo=session.zone())).timestamp() * 1_000
    except (ValueError, OverflowError):
        return None
    return at_ms if 0 <= at_ms <= LATEST_MS else None


def _written(at_ms: float) -> str:
    at = datetime.fromtimestamp(min(max(at_ms, 0), LATEST_MS) / 1_000, UTC)
    return at.isoformat(timespec="milliseconds" if at.microsecond else "seconds").replace("+00:00", "Z")
