"""Alerts of all jobs: what fires, the rules, silences, and the channels that are told."""

from __future__ import annotations

from html import escape

import streamlit as st

from dashboard import once, permitted, session
from dashboard.views.alerts import forms, lists
from dashboard.views.commands import commands
from dashboard.views.live import live, live_switch
from dashboard.widgets import chip, command, confirm, empty_state, errors_shown, page_header, section
from pipelines.domain.access import Role
from pipelines.domain.alerts import Alerts, ChannelSeen
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.channel import SetChannel
from pipelines.verbs.try_channel import TryChannel
from pipelines.words import alerts as words

NO_CHANNEL = (
    "No message is sent yet: alerts show on these pages alone. A channel is an Apprise address: a webhook, Slack, e-mail and many more."
)
UNSET = "The variable or file that should hold it cannot be read"


def page() -> None:
    """Draws the alerts."""
    with errors_shown():
        with page_header("Alerts"):
            commands([ShowAlerts()], key="alerts_command")
            on = live_switch()
            if permitted.button("Silence…", Role.OPERATOR, icon=":material/notifications_off:", key="silence"):
                forms.ask_silence("", "")
            if permitted.button("New rule", Role.OPERATOR, type="primary", icon=":material/add:", key="new_rule"):
                forms.ask_rule("", None)
        live(_draw, on)


def _draw() -> None:
    with errors_shown():
        now, shown = session.now_ms(), session.shared(ShowAlerts())
        lists.held(shown, now, with_job=True)
        lists.silences(shown.silences)
        if shown.rules:
            lists.rules(shown, "Rules", "for every job, or for one")
        else:
            _none()
        _channels(shown)


def _none() -> None:
    with empty_state("No rules yet", lists.NO_RULES, key="alerts"):
        command("python -m pipelines alert set failed --when failed")


def _channels(shown: Alerts) -> None:
    section("Channels", "where messages go; the addresses are in the server's environment or in files, and are shown nowhere")
    with st.container(border=True, key="card_channels", gap=None):
        for seen in shown.channels:
            _channel(seen)
        if not shown.channels:
            st.html(f'<div class="tm-attention tm-more">{NO_CHANNEL}</div>')
        if permitted.button("Add channel…", Role.ADMIN, icon=":material/add:", type="tertiary", key="add_channel"):
            forms.ask_channel()


def _channel(seen: ChannelSeen) -> None:
    name = seen.channel.name
    with st.container(horizontal=True, vertical_alignment="center", key=f"channel_{name}"):
        there = chip("address set", "green", dot=True) if seen.is_given else chip("no address", "orange", dot=True, hint=UNSET)
        place = f'<span class="tm-words">address in <span class="tm-mono">{escape(words.place(seen.channel))}</span></span>'
        st.html(f'<div class="tm-attention">{there}<b>{escape(name)}</b>{place}</div>', width="stretch")
        if permitted.button("Test", Role.OPERATOR, icon=":material/send:", type="tertiary", key=f"test_{name}", help="Send a test message"):
            _test(name)
        if permitted.button("Remove…", Role.ADMIN, type="tertiary", key=f"remove_{name}"):
            change = SetChannel(name, remove=True)
            confirm(f"Remove {name}", "No alert is sent there any more.", "Remove", lambda: once.do(change), danger=True)


def _test(name: str) -> None:
    with errors_shown(), st.spinner(f"Sending to {name} …", show_time=True):
        once.do(TryChannel(name))
        st.success(f"{name} has accepted the test message.", icon=":material/check:")
