"""The overview: key figures, what needs attention, the table of jobs, actions on those that are ticked."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import address, navigation, once, permitted, session
from dashboard.dialogs import redraw
from dashboard.views import changes
from dashboard.views.live import RANGES, live, live_switch, range_switch
from dashboard.views.new_job import ATTACH
from dashboard.views.overview import figures, groups, table
from dashboard.views.overview.attention import Alert, Group, alerts, alerts_of, grouped
from dashboard.views.overview.table import ATTENTION, CHOICES
from dashboard.widgets import chip, command, empty_state, errors_shown, page_header, when
from pipelines.domain.access import Role
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ShowHealth, StartExample
from pipelines.verbs.take import Take
from pipelines.words import formats

ABOUT = (
    "Tidemark watches Spark streaming jobs and keeps versions of their state: take a savepoint of a running job, fork it with changed "
    "code, and compare the two."
)
EXAMPLE = "The example runs a generator of events and <b>post_engagement</b>, which counts views and clicks per post."

WATCHED = "A job that <b>runs elsewhere</b> is watched by its checkpoint alone; nothing is written to it, and the job does not notice."
ADDRESS = {"range": address.one_of(*RANGES), "state": address.one_of(*CHOICES), "page": address.NUMBER}
WATCH = "Shows the batches of a job that runs elsewhere, and takes savepoints and forks of it. Nothing is written to its checkpoint"
LINE_STEPS = 600
"""The small lines of the key figures are as old as one of so many steps of their range at most."""


def page() -> None:
    """Draws the overview."""
    with errors_shown():
        jobs = session.shared(ListJobs())
        if not jobs:
            _first_steps()
            return
        with page_header("Overview", caption=formats.plural(len(jobs), "job")):  # how many of them run the live part says
            span_ms = range_switch()
            on = live_switch()
            if permitted.button("New job", Role.AUTHOR, type="primary", icon=":material/add:", key="new_job"):
                navigation.go("new_job")
        picked = groups.picked()
        groups.bar(jobs)
        live(lambda: _draw(span_ms, len(jobs), picked), on)


def _draw(span_ms: int, known: int, picked: Sequence[str]) -> None:
    """The live part; the bar above it was drawn for `known` jobs, of which those `picked` are ticked."""
    with errors_shown():
        now = session.now_ms()
        jobs = session.shared(ListJobs())
        health = session.shared(ShowHealth(span_ms), age_ms=span_ms / LINE_STEPS)
        if len(jobs) != known:
            st.rerun()
        attention = alerts(jobs, session.shared(ListSavepoints()), health)
        with st.container(key="overview_top"):
            figures.draw(health.as_of(jobs), {job.job.name: job for job in jobs}, attention)
            if attention:
                _attention(attention, now)
        opened = table.draw(jobs, {alert.job for alert in attention}, now)
        if opened:
            navigation.go("job", job=opened)
        if groups.picked() != picked:
            redraw()


ACTIONS = {
    "resume": "Resume",
    "inspect": "Inspect",
    "logs": "Read the log",
    "take": "Take a savepoint",
    "savepoint": "Open savepoint",
    "settings": "See the storage",
}
MOST = 5


def _attention(attention: Sequence[Alert], now: float) -> None:
    with st.container(border=True, key="card_attention", gap=None):
        lines = grouped(attention)
        for line in lines[:MOST]:
            if isinstance(line, Group):
                _group(line)
                continue
            alert = line
            with st.container(horizontal=True, vertical_alignment="center", key=f"attention_{alert.job}_{alert.subject}"):
                st.html(_words(alert, now), width="stretch")
                label = ACTIONS[alert.action]
                if st.button(
                    label,
                    key=f"do_{alert.action}_{alert.subject or alert.job}",
                    type="tertiary",
                    icon=":material/arrow_forward:",
                    icon_position="right",
                ):
                    _act(alert)
        if len(lines) > MOST:
            st.html(f'<div class="tm-attention tm-more">{_more(lines)}</div>')


def _more(lines: Sequence[Alert | Group]) -> str:
    """How many jobs the lines are about that are not shown; where those jobs have a line already, how many lines."""
    shown, left = ({alert.job for alert in alerts_of(some)} for some in (lines[:MOST], lines[MOST:]))
    more = formats.plural(len(left - shown), "more job") if left - shown else formats.plural(len(lines) - MOST, "more line")
    return f"and {more}: choose “{ATTENTION}” below to see them"


def _group(group: Group) -> None:
    """Alike findings as one line, with the way to the list of their jobs."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"attention_group_{group.title}_{group.code}"):
        badge = chip(group.title.capitalize(), group.tone, dot=True)
        code = f' <code class="tm-mono">{escape(group.code)}</code>' if group.code else ""
        words = f'<span class="tm-words">{escape(group.words(session.zone()))}</span>'
        st.html(f'<div class="tm-attention">{badge}<b>{formats.plural(len(group.alerts), "job")}</b>{code}{words}</div>', width="stretch")
        key, right = f"list_{group.title}_{group.code}", {"icon": ":material/arrow_forward:", "icon_position": "right"}
        st.button("List these jobs", key=key, type="tertiary", on_click=_list_group, args=(group,), **right)  # type: ignore[arg-type]


def _list_group(group: Group) -> None:
    """The table below shows the jobs of the group alone."""
    st.session_state["filter"] = f"{group.title} {group.code}".strip()
    session.select(state=ATTENTION, page="")


def _words(alert: Alert, now: float) -> str:
    since = f' <span class="tm-when">{when(alert.since_ms, now)}</span>' if alert.since_ms else ""
    code = f' <code class="tm-mono">{escape(alert.code)}</code>' if alert.code else ""
    words = f'<span class="tm-words">{escape(alert.words)}</span>' if alert.words else ""
    badge = chip(alert.title.capitalize(), alert.tone, dot=True)
    return f'<div class="tm-attention">{badge}<b>{escape(alert.job)}</b>{since}{code}{words}</div>'


def _act(alert: Alert) -> None:
    """Does what an alert proposes: resumes at once (after its last batch, so nothing is lost), takes a savepoint, or opens a page."""
    if alert.action == "resume":
        with errors_shown():
            once.do(Resume(alert.job))
            navigation.go("job", job=alert.job)
        return
    if alert.action == "take":
        with errors_shown():
            changes.take(Take(alert.job))
            navigation.go("job", job=alert.job, tab="Savepoints")
        return
    if alert.action == "savepoint":
        navigation.go("savepoints", savepoint=alert.subject)
    if alert.action == "settings":
        navigation.go("settings")
    navigation.go("job", job=alert.job, tab="Logs" if alert.action == "logs" else "")


def _first_steps() -> None:
    with page_header("Overview"):
        pass
    with empty_state("No jobs yet", ABOUT, key="jobs"):
        with st.container(horizontal=True, horizontal_alignment="center"):
            example = permitted.button("Start the example", Role.AUTHOR, type="primary", icon=":material/play_arrow:", key="start_example")
            own = permitted.button("New job", Role.AUTHOR, icon=":material/add:", key="new_job")
            watch = permitted.button(
                "Watch a job by its checkpoint", Role.AUTHOR, icon=":material/visibility:", key="watch_job", help=WATCH
            )
        st.html(f'<p class="tm-fine">{EXAMPLE}<br>{WATCHED}</p>')
        command("python -m pipelines run my_job.py --name my_job")
    if own:
        navigation.go("new_job")
    if watch:
        navigation.go("new_job", source=ATTACH)
    if example:
        with errors_shown():
            once.do(StartExample())
            st.rerun()
