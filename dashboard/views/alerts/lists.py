"""Alerts that hold with what can be done about them, silences, and rules: the same on the page of alerts and on a job's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import streamlit as st

from dashboard import navigation, once, permitted, session
from dashboard.components.table import Cell, Column, Row, table
from dashboard.views.alerts import forms
from dashboard.widgets import Tone, chip, errors_shown, section, when
from pipelines.domain.access import Role
from pipelines.domain.alert_rules import Rule
from pipelines.domain.alerts import Alert, Alerts, AlertState, PlacedRule, Silence
from pipelines.verbs.acknowledge import Acknowledge
from pipelines.verbs.silence import SilenceAlerts
from pipelines.words import alerts as words
from pipelines.words import formats

COLUMNS = (Column("Rule"), Column("Job"), Column("When", wide=True), Column("Sent to"), Column("Now"))
NO_RULES = "A rule says when an alert fires: while a job has a finding, such as failed, or while a figure is beyond a threshold."
TONES: dict[AlertState, Tone] = {AlertState.PENDING: "orange", AlertState.FIRING: "red", AlertState.RESOLVED: "green"}


def held(shown: Alerts, now: float, *, with_job: bool) -> None:
    """A line for each alert that is pending or fires; nothing where there is none."""
    if not shown.alerts:
        return
    with st.container(border=True, key="card_alerts", gap=None):
        for alert in shown.alerts:
            key = f"{alert.job}_{alert.rule}"
            with st.container(horizontal=True, vertical_alignment="center", key=f"alert_{key}"):
                silent = next((silence for silence in shown.silences if silence.covers(alert, round(now))), None)
                st.html(_line(alert, now, silent, with_job=with_job), width="stretch")
                if alert.state is AlertState.FIRING and alert.acknowledged_ms is None:
                    button = {"icon": ":material/check:", "help": "You look after it: no more messages until it is over"}
                    if permitted.button("Acknowledge", Role.OPERATOR, type="tertiary", key=f"acknowledge_{key}", **button):
                        _acknowledge(alert)
                if permitted.button("Silence…", Role.OPERATOR, type="tertiary", icon=":material/notifications_off:", key=f"silence_{key}"):
                    forms.ask_silence(alert.job, alert.rule)


def _line(alert: Alert, now: float, silent: Silence | None, *, with_job: bool) -> str:
    job = f'<a href="{escape(navigation.href("job", job=alert.job))}" target="_self"><b>{escape(alert.job)}</b></a>' if with_job else ""
    taken = f"acknowledged by {alert.acknowledged_by}" if alert.acknowledged_ms is not None else ""
    quiet = f"silenced until {formats.exact(silent.until_ms, session.zone())}" if silent else ""
    text = "; ".join(filter(None, (alert.words, words.told(alert).removeprefix(formats.MISSING), taken, quiet)))
    badge = chip(alert.state.value.capitalize(), TONES[alert.state], dot=True)
    since = f'<span class="tm-when">{when(alert.since_ms, now)}</span>'
    return f'<div class="tm-attention">{badge}{job}<b>{escape(alert.rule)}</b>{since}<span class="tm-words">{escape(text)}</span></div>'


def _acknowledge(alert: Alert) -> None:
    with errors_shown():
        once.do(Acknowledge(alert.job, alert.rule))
        st.rerun()


def silences(lasting: Sequence[Silence]) -> None:
    """A line for each silence, with the button that ends it."""
    if not lasting:
        return
    with st.container(border=True, key="card_silences", gap=None):
        for silence in lasting:
            with st.container(horizontal=True, vertical_alignment="center", key=f"silenced_{silence.job}_{silence.rule}"):
                until = f"until {formats.exact(silence.until_ms, session.zone())}, by {silence.by}"
                text = f'<b>{escape(words.silence(silence))}</b><span class="tm-words">{escape(until)}</span>'
                st.html(f'<div class="tm-attention">{chip("Silenced", "gray", dot=True)}{text}</div>', width="stretch")
                if permitted.button("End", Role.OPERATOR, type="tertiary", key=f"end_{silence.job}_{silence.rule}"):
                    with errors_shown():
                        once.do(SilenceAlerts(silence.job, silence.rule, end=True))
                        st.rerun()


def rules(shown: Alerts, title: str, caption: str) -> None:
    """The table of rules; a click opens the rule."""
    section(title, caption)
    rows = [_row(place, placed, shown) for place, placed in enumerate(shown.rules)]
    opened = table(COLUMNS, rows, key=f"rules_{shown.job}", label=title)
    if opened:
        placed = shown.rules[int(opened)]
        forms.ask_rule(placed.job, placed.rule)


def _row(place: int, placed: PlacedRule, shown: Alerts) -> Row:
    rule = placed.rule
    own = {other.job for other in shown.rules if other.rule.name == rule.name and other.job}
    mine = [
        alert for alert in shown.alerts if alert.rule == rule.name and (alert.job == placed.job if placed.job else alert.job not in own)
    ]
    firing = sum(alert.state is AlertState.FIRING for alert in mine)
    now = Cell(f"{firing} firing", tone="red") if firing else Cell(f"{len(mine)} pending", tone="orange") if mine else Cell("–", muted=True)
    cells = (
        Cell(rule.name, strong=True),
        Cell(placed.job or "every job", muted=not placed.job),
        Cell(words.spelt(rule), hint=words.metric(rule) or words.spelt(rule), muted=rule.off),
        _sent_to(rule, {seen.channel.name for seen in shown.channels}),
        Cell("off", muted=True) if rule.off else now,
    )
    return Row(str(place), cells)


def _sent_to(rule: Rule, known: Collection[str]) -> Cell:
    """The channels; red where the rule names one that is gone, as that of a job which was away when the channel was removed."""
    gone = [name for name in rule.channels if name not in known]
    hint = f"There is no channel {', '.join(gone)}: nothing is sent there" if gone else ""
    return Cell(", ".join(rule.channels) or "every channel", muted=not rule.channels, tone="red" if gone else None, hint=hint)
