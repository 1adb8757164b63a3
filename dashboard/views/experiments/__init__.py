"""Experiments: the list of them, or two jobs side by side over event time: their metrics, their outputs, their code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dashboard import equivalents, formats, navigation, session
from dashboard.equivalents import Equivalent
from dashboard.views import operations
from dashboard.views.commands import commands, said
from dashboard.views.experiments import decisions, intervals, metrics, outputs, sides, table
from dashboard.views.experiments.reading import Pair, decided, pair
from dashboard.views.live import live, live_switch
from dashboard.widgets import chip, errors_shown, message_box, page_header, when
from pipelines.domain.decisions import Choice, StateFrom
from pipelines.domain.experiments import Experiment
from pipelines.domain.operations import Operation

DECIDES, STOPS = ("promote", "drop"), ("stop", "cancel")
"""Kinds of operations that decide about a variant, and that stop a job."""


def page() -> None:
    """Draws the experiment or the two jobs that the address names, else the list."""
    with errors_shown():
        named, a, b = (session.selected(name) for name in ("experiment", "a", "b"))
        if named:
            _experiment(session.workspace().experiment(named), a, b)
        elif a and b:
            _any_two(a, b)
        else:
            _list()


def _list() -> None:
    every = session.workspace().experiments()
    with page_header("Experiments", caption=formats.plural(len(every), "experiment") if every else ""):
        commands([said("List them", ["experiments"], "GET", "/experiments")], key="experiments_command")
    table.draw(every)


def _experiment(one: Experiment, a: str, b: str) -> None:
    href = navigation.href("savepoints", savepoint=one.savepoint)
    caption = f'from <a href="{href}" target="_self">{formats.short_id(one.savepoint)}</a> · began {when(one.created_ms, session.now_ms())}'
    chosen = pair(one.jobs, a, b)
    with page_header(one.name, chips=[chip(one.id, mono=True)], caption=caption):
        _back()
        if len(one.jobs) > 2:
            chosen = _choice(one.jobs, chosen)
        commands(_shell(one, chosen), key="experiment_command")
        _decide(one, chosen)
        on = live_switch()
    operations.under_way(partial(_concerns, one), key="experiment")
    decisions.notes(one)
    _side_by_side(chosen, on, one)


def _decide(one: Experiment, chosen: Pair) -> None:
    """Promote and drop B, where it is a variant that nothing was decided about."""
    found = sides.detail_of(chosen.b)
    if found and found.summary.job.origin and not decided(one, chosen.b):
        decisions.buttons(chosen.b)


def _concerns(one: Experiment, about: Operation) -> bool:
    return (about.kind in DECIDES and about.subject in one.jobs) or (about.kind in STOPS and about.job in one.jobs)


def _shell(one: Experiment, chosen: Pair) -> tuple[Equivalent, ...]:
    """Its commands, and those that decide about B."""
    shows = said("Show it", ["experiments", "--json"], "GET", f"/experiments/{one.id}")
    made, url = decided(one, chosen.b), session.url()
    decides: tuple[Equivalent, ...] = ()
    if made is None:
        decides = (equivalents.promote(chosen.b, url, StateFrom.PRESENT), equivalents.drop(chosen.b, url, with_savepoint=True))
    elif made.choice is Choice.DROPPED:
        decides = (equivalents.undrop(chosen.b, url),)
    return (_compare(chosen), shows, *decides)


def _any_two(a: str, b: str) -> None:
    with page_header(f"{a} against {b}"):
        _back()
        commands([_compare(Pair(a, b))], key="compare_command")
        on = live_switch()
    if a == b:
        message_box("A job is always equal to itself", "Choose another one for B.", tone="orange")
        return
    _side_by_side(Pair(a, b), on)


def _back() -> None:
    if st.button("All experiments", icon=":material/arrow_back:", type="tertiary", key="experiments_back"):
        navigation.go("experiments")


def _choice(jobs: Sequence[str], chosen: Pair) -> Pair:
    """Which two of an experiment of more."""
    a = st.selectbox("A", jobs, index=list(jobs).index(chosen.a), key="choice_a", label_visibility="collapsed", width=220)
    others = [job for job in jobs if job != a]
    index = others.index(chosen.b) if chosen.b in others else 0
    b = st.selectbox("B", others, index=index, key="choice_b", label_visibility="collapsed", width=220)
    session.select(a=str(a), b=str(b))
    return Pair(str(a), str(b))


def _compare(chosen: Pair) -> Equivalent:
    return said("Compare their outputs", ["compare", chosen.a, chosen.b], "POST", "/compare", {"a": chosen.a, "b": chosen.b})


def _side_by_side(chosen: Pair, on: bool, experiment: Experiment | None = None) -> None:
    for (side, job), cell in zip((("A", chosen.a), ("B", chosen.b)), st.columns(2, gap="small"), strict=True):
        with cell:
            sides.card(side, job, experiment)
    live(partial(_compared, chosen), on)
    sides.state(chosen)
    sides.code(chosen)


def _compared(chosen: Pair) -> None:
    """The live part."""
    with errors_shown():
        if _ended_or_begun(chosen):
            st.rerun()
        outputs.draw(chosen)
        intervals.draw(chosen)
        metrics.draw(chosen)


def _ended_or_begun(chosen: Pair) -> bool:
    """Whether a side changed its state since its card was drawn."""
    found = [sides.detail_of(job) for job in (chosen.a, chosen.b)]
    now = [(one.summary.state, (one.summary.batch or 0) // 10) if one else None for one in found]
    before, st.session_state["sides_seen"] = st.session_state.get("sides_seen", now), now
    return bool(now != before)
