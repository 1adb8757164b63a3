"""Experiments: the list of them, or two jobs side by side over event time: their metrics, their outputs, their code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import address, navigation, session
from dashboard.dialogs import redraw
from dashboard.views import decisions, operations
from dashboard.views.commands import Shown, commands
from dashboard.views.experiments import begin, bisections, intervals, metrics, outputs, replays, sides, states, table, variants
from dashboard.views.experiments.comparisons import compared, is_known
from dashboard.views.experiments.sentence import Sentence, drawn, sentence
from dashboard.views.experiments.shares import Pair, pair
from dashboard.views.gone import found
from dashboard.views.live import live, live_switch
from dashboard.widgets import chip, errors_shown, message_box, page_header, when
from pipelines.domain.decisions import Choice
from pipelines.domain.errors import TidemarkError
from pipelines.domain.experiments import Experiment
from pipelines.domain.operations import Operation
from pipelines.verbs.bisect import ShowBisection
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiments import Compare, ListExperiments, ShowExperiment
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.promote import Promote
from pipelines.verbs.replay import ShowReplay
from pipelines.words import formats

DECIDES, STOPS = ("promote", "drop"), ("stop", "cancel")
"""Kinds of operations that decide about a variant, and that stop a job."""
ADDRESS = {"only": address.YES}


def page() -> None:
    """Draws the experiment or the two jobs that the address names, else the list."""
    with errors_shown():
        named, a, b = (session.selected(name) for name in ("experiment", "a", "b"))
        if replay := session.selected("replay"):
            replays.draw(session.workspace().ask(ShowReplay(replay)))
        elif bisection := session.selected("bisection"):
            bisections.draw(session.workspace().ask(ShowBisection(bisection)))
        elif named:
            experiment = found(ShowExperiment(named), "Experiments", "experiments", "All experiments")
            if experiment is not None:
                _experiment(experiment, a, b)
        elif a and b:
            _any_two(a, b)
        else:
            _list()


def _list() -> None:
    every = session.workspace().ask(ListExperiments())
    with page_header("Experiments", caption=formats.plural(len(every), "experiment") if every else ""):
        commands([ListExperiments()], key="experiments_command")
    operations.under_way(lambda about: about.kind in begin.KINDS, key="begun_of_two")
    begin.buttons()
    table.draw(every)
    replays.draw_list()
    bisections.draw_list()


def _experiment(experiment: Experiment, a: str, b: str) -> None:
    href = navigation.href("savepoints", savepoint=experiment.savepoint)
    caption = (
        f'from <a href="{href}" target="_self">{formats.short_id(experiment.savepoint)}</a>'
        f" · began {when(experiment.created_ms, session.now_ms())}"
    )
    chosen = pair(experiment.jobs, a, b)
    for side in ("a", "b"):
        address.check_among(side, experiment.jobs, "variant")
    with page_header(experiment.name, chips=[chip(experiment.id, mono=True)], caption=caption):
        _back()
        if len(experiment.jobs) > 2:
            chosen = _choice(experiment.jobs, chosen)
        commands(_shell(experiment, chosen), key="experiment_command")
        _decide(experiment, chosen)
        on = live_switch()
    operations.under_way(partial(_concerns, experiment), key="experiment")
    decisions.notes(experiment)
    _side_by_side(chosen, on, experiment)


def _decide(experiment: Experiment, chosen: Pair) -> None:
    """Promote and drop B, where it is a variant that nothing was decided about."""
    detail = sides.detail_of(chosen.b)
    if detail and detail.summary.job.origin and not experiment.decided(chosen.b):
        decisions.buttons(detail.summary)


def _concerns(experiment: Experiment, about: Operation) -> bool:
    return (about.kind in DECIDES and about.subject in experiment.jobs) or (about.kind in STOPS and about.job in experiment.jobs)


def _shell(experiment: Experiment, chosen: Pair) -> tuple[Shown, ...]:
    """The commands of the experiment, and those that decide about B."""
    made = experiment.decided(chosen.b)
    decides: tuple[Shown, ...] = ()
    if made is None:
        decides = (Promote(chosen.b), Drop(chosen.b))
    elif made.choice is Choice.DROPPED:
        decides = (Undrop(chosen.b),)
    return (Compare(chosen.a, chosen.b), ShowExperiment(experiment.id), *decides)


def _any_two(a: str, b: str) -> None:
    with page_header(f"{a} against {b}"):
        _back()
        commands([Compare(a, b)], key="compare_command")
        on = live_switch()
    if a == b:
        message_box("A job is always equal to itself", "Choose another one for B.", tone="orange")
        return
    for job in (a, b):
        session.workspace().ask(ShowJob(job))
    _side_by_side(Pair(a, b), on)


def _back() -> None:
    if st.button("All experiments", icon=":material/arrow_back:", type="tertiary", key="experiments_back"):
        navigation.go("experiments")


def _choice(jobs: Sequence[str], chosen: Pair) -> Pair:
    """Two selectors for A and B, where an experiment has more than two jobs. They show what the address says, which a click on a variant
    changes, too."""
    session.select(a=chosen.a, b=chosen.b)
    for side, job, others in (("a", chosen.a, jobs), ("b", chosen.b, [job for job in jobs if job != chosen.a])):
        st.session_state[f"choice_{side}"] = job
        label, hidden = side.upper(), {"label_visibility": "collapsed", "width": 220}
        st.selectbox(label, others, key=f"choice_{side}", on_change=_choose, args=(side,), **hidden)  # type: ignore[call-overload]
    return chosen


def _choose(side: str) -> None:
    session.select(**{side: str(st.session_state[f"choice_{side}"])})


def _side_by_side(chosen: Pair, on: bool, experiment: Experiment | None = None) -> None:
    """What is known at once is drawn first: a first comparison takes its time, and what stands above it on the page would be missing."""
    with st.container(key="sentence"):
        slot = st.empty()
    table_of_all, cards, live_part, rest = (st.container(key=f"experiment_{part}") for part in ("variants", "sides", "live", "rest"))
    with cards:
        for (side, job), cell in zip((("A", chosen.a), ("B", chosen.b)), st.columns(2, gap="small"), strict=True):
            with cell:
                sides.card(side, job, experiment)
        awaited = st.empty()
    gone = [job for job in (chosen.a, chosen.b) if sides.detail_of(job) is None]
    if gone:
        slot.html(drawn(Sentence(f"{' and '.join(gone)} forgotten: nothing is left to compare", "red")))
    else:
        _await(chosen, slot, awaited)
        with rest:
            state_card = st.container()
            sides.code(chosen)
    if experiment and len(experiment.jobs) > 2:
        with table_of_all:
            variants.draw(experiment, chosen.b)
    if gone:
        return
    with live_part:
        live(partial(_compared, chosen, slot), on)
    awaited.empty()
    outcome = compared(outputs.asked(chosen)).outcome
    with state_card:
        states.draw(chosen, None if isinstance(outcome, TidemarkError) else outcome)


def _await(chosen: Pair, slot: DeltaGenerator, awaited: DeltaGenerator) -> None:
    """Says what is being waited for where there is no comparison yet."""
    if is_known(outputs.asked(chosen)):
        return
    slot.html(drawn(Sentence("B: being compared with A", "blue")))
    with awaited:
        message_box("Comparing the outputs", "The rows that both have written are being read; below is what is known before.", tone="blue")


def _compared(chosen: Pair, slot: DeltaGenerator) -> None:
    """The live part; its sentence stands in `slot`, above all. The metrics, which are at hand, are drawn before what takes its time."""
    with errors_shown():
        if _ended_or_begun(chosen):
            redraw()
        rows, differences = st.container(), st.container()
        metrics.draw(chosen)
        _say(chosen, slot)
        with rows:
            outputs.draw(chosen)
        with differences:
            intervals.draw(chosen)


def _say(chosen: Pair, slot: DeltaGenerator) -> None:
    first, second = sides.detail_of(chosen.a), sides.detail_of(chosen.b)
    told = intervals.of(chosen) if first and second else ()
    outcome = compared(outputs.asked(chosen)).outcome
    conclusion = sentence("B", second.summary if second else None, outcome, told, session.zone())
    slot.html(drawn(conclusion))


def _ended_or_begun(chosen: Pair) -> bool:
    """Whether a side changed its state since its card was drawn; while a dialog is open, which a new card would close, later says so."""
    details = [sides.detail_of(job) for job in (chosen.a, chosen.b)]
    now = (chosen, [(detail.summary.state, (detail.summary.batch or 0) // 10) if detail else None for detail in details])
    if not session.refreshing():
        st.session_state["sides_seen"] = now
    return bool(st.session_state.get("sides_seen", now) != now)
