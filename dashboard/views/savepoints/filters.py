"""The filters of savepoints: job, words, origin, trust, past best before. All are in the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from dashboard import address, session
from dashboard.widgets import section
from pipelines.domain.savepoints import Savepoint
from pipelines.words.savepoints import ORIGINS
from pipelines.words.trust import LEVELS, best

Fits = Callable[[Savepoint], bool]


def filtered(every: Sequence[Savepoint], now_ms: float) -> list[Savepoint]:
    """Draws the filters and returns those that fit; a button selects them all."""
    with st.container(horizontal=True, vertical_alignment="center", key="savepoints_filters"):
        section("Catalog")
        fits = [_job(every), _text(), _origin(every), _trust(every), _past(every, now_ms)]
        shown = [savepoint for savepoint in every if all(fit(savepoint) for fit in fits)]
        _select(shown)
    return shown


def matches(savepoint: Savepoint, text: str) -> bool:
    """Whether `text` occurs in its id, label, note, origin, job or version."""
    texts = (savepoint.id, savepoint.label, savepoint.note, ORIGINS[savepoint.reason], savepoint.job, savepoint.version)
    return any(text.casefold() in value.casefold() for value in texts)


def past(savepoint: Savepoint, now_ms: float) -> bool:
    """Whether its best-before date is over, so that it may be disposed of."""
    return savepoint.best_before_ms is not None and savepoint.best_before_ms < now_ms


def _job(every: Sequence[Savepoint]) -> Fits:
    jobs = {str(savepoint.job): str(savepoint.job) for savepoint in sorted(every, key=lambda savepoint: savepoint.job)}
    job = _choice("Job", "job", {"": "All jobs", **jobs}, 170)
    return lambda savepoint: job in ("", savepoint.job)


def _text() -> Fits:
    text = st.text_input(
        "Filter",
        session.selected("filter"),
        key="savepoints_filter",
        placeholder="Id, label, note …",
        icon=":material/search:",
        label_visibility="collapsed",
        live=True,
        width=200,
    )
    session.select(filter=text or "")
    return lambda savepoint: matches(savepoint, text or "")


def _origin(every: Sequence[Savepoint]) -> Fits:
    """Offers only origins that occur."""
    there = {str(reason): words.capitalize() for reason, words in ORIGINS.items() if any(savepoint.reason is reason for savepoint in every)}
    origin = _choice("Origin", "origin", {"": "All origins", **there}, 160)
    return lambda savepoint: origin in ("", savepoint.reason)


def _trust(every: Sequence[Savepoint]) -> Fits:
    there = {level: level.capitalize() for level in map(str, LEVELS) if any(best(savepoint) == level for savepoint in every)}
    level = _choice("Trust", "trust", {"": "All trust", **there}, 130)
    return lambda savepoint: level in ("", best(savepoint))


def _past(every: Sequence[Savepoint], now_ms: float) -> Fits:
    """Offered where one of them has a date."""
    chosen = session.selected("past") == "yes"
    if any(savepoint.best_before_ms is not None for savepoint in every) or chosen:
        chosen = st.toggle("Past best before", chosen, key="savepoints_past", help="After that date they may be disposed of")
        session.select(past="yes" if chosen else "")
    return lambda savepoint: not chosen or past(savepoint, now_ms)


def _choice(name: str, place: str, choices: Mapping[str, str], width: int) -> str:
    """A selectbox whose value is `place` in the address; an unknown value selects the first option."""
    options, selected = list(choices), session.selected(place)
    address.check_among(place, options, name.lower())
    chosen = st.selectbox(
        name,
        options,
        index=options.index(selected) if selected in options else 0,
        format_func=lambda option: choices.get(option, option),
        key=f"savepoints_{place}",
        label_visibility="collapsed",
        width=width,
    )
    session.select(**{place: chosen or ""})
    return chosen or ""


def _select(shown: Sequence[Savepoint]) -> None:
    words = f"Selects the {len(shown):,} savepoints of the table"
    if st.button("Select shown", icon=":material/select_all:", type="tertiary", key="select_shown", disabled=not shown, help=words):
        session.select(savepoint=",".join(savepoint.id for savepoint in shown))
        st.rerun()
