"""Which savepoints are looked for: by job, words, origin, trust, past best before. The address holds all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from dashboard import session
from dashboard.trust import LEVELS, ORIGINS, level_of
from dashboard.widgets import section
from pipelines.domain.savepoints import Savepoint

Fits = Callable[[Savepoint], bool]


def filtered(every: Sequence[Savepoint], now_ms: float) -> list[Savepoint]:
    """Draws the filters and returns those that fit; a button selects them all."""
    with st.container(horizontal=True, vertical_alignment="center", key="savepoints_filters"):
        section("Catalog")
        fits = [_job(every), _text(), _origin(every), _trust(every), _past(every, now_ms)]
        shown = [one for one in every if all(fit(one) for fit in fits)]
        _select(shown)
    return shown


def matches(one: Savepoint, text: str) -> bool:
    """Whether `text` stands in what is said of it."""
    said = (one.id, one.label, one.note, ORIGINS[one.reason], one.job, one.version)
    return any(text.casefold() in value.casefold() for value in said)


def past(one: Savepoint, now_ms: float) -> bool:
    """Whether its best-before date is over: it may be disposed of."""
    return one.best_before_ms is not None and one.best_before_ms < now_ms


def _job(every: Sequence[Savepoint]) -> Fits:
    jobs = {str(one.job): str(one.job) for one in sorted(every, key=lambda one: one.job)}
    job = _choice("Job", "job", {"": "All jobs", **jobs}, 170)
    return lambda one: job in ("", one.job)


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
    return lambda one: matches(one, text or "")


def _origin(every: Sequence[Savepoint]) -> Fits:
    """Only origins that there are."""
    there = {str(reason): words.capitalize() for reason, words in ORIGINS.items() if any(one.reason is reason for one in every)}
    origin = _choice("Origin", "origin", {"": "All origins", **there}, 160)
    return lambda one: origin in ("", one.reason)


def _trust(every: Sequence[Savepoint]) -> Fits:
    there = {level: level.capitalize() for level in map(str, LEVELS) if any(level_of(one) == level for one in every)}
    level = _choice("Trust", "trust", {"": "All trust", **there}, 130)
    return lambda one: level in ("", level_of(one))


def _past(every: Sequence[Savepoint], now_ms: float) -> Fits:
    """Offered where one of them has a date."""
    chosen = session.selected("past") == "yes"
    if any(one.best_before_ms is not None for one in every) or chosen:
        chosen = st.toggle("Past best before", chosen, key="savepoints_past", help="After that date they may be disposed of")
        session.select(past="yes" if chosen else "")
    return lambda one: not chosen or past(one, now_ms)


def _choice(name: str, place: str, choices: Mapping[str, str], width: int) -> str:
    """A choice whose place in the address is `place`; one that is not there any more is none."""
    options, wanted = list(choices), session.selected(place)
    chosen = st.selectbox(
        name,
        options,
        index=options.index(wanted) if wanted in options else 0,
        format_func=lambda one: choices.get(one, one),
        key=f"savepoints_{place}",
        label_visibility="collapsed",
        width=width,
    )
    session.select(**{place: chosen or ""})
    return chosen or ""


def _select(shown: Sequence[Savepoint]) -> None:
    words = f"Selects the {len(shown):,} savepoints of the table"
    if st.button("Select shown", icon=":material/select_all:", type="tertiary", key="select_shown", disabled=not shown, help=words):
        session.select(savepoint=",".join(one.id for one in shown))
        st.rerun()
