"""The dialogs of alerts: a rule, a silence, a channel."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from dashboard import session
from dashboard.dialogs import dialog
from dashboard.views.endings import ending
from dashboard.widgets import error_box, errors_shown
from pipelines.domain.alert_rules import GROWING, GROWTH, METRIC, OBSERVED, Rule
from pipelines.domain.alerts import Alerts, Channel
from pipelines.domain.errors import TidemarkError
from pipelines.domain.findings import Problem
from pipelines.domain.moments import duration_ms, spelt_duration
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.channel import SetChannel
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.set_alert import SetAlert
from pipelines.verbs.silence import SilenceAlerts
from pipelines.verbs.verb import Change
from pipelines.words import alerts as words
from pipelines.words.figures import ALERTABLE, EXPOSED

C = TypeVar("C", bound=Change[Alerts, Any])
FINDING, FIGURE = "A finding", "A figure"
EVERY_JOB, EVERY_CHANNEL = "Every job", "all"
TIMES = (
    ("for_ms", "For", "Fires once it has held for so long: 5m. Empty: at once"),
    ("clear_for_ms", "Over for", "Resolved once that has lasted so long. Empty: at once"),
    ("repeat_ms", "Again every", "The message is sent again until somebody acknowledges the alert. Empty: once"),
)
OVER_AT = "Resolved once the figure is back at this value: 1m. In between nothing changes. Empty: at the threshold"
ADDRESS = "An Apprise address (json://host/path, slack://…, mailto://…) holds secrets. Say where it is; it is stored and shown nowhere."


def ask_rule(job: str, rule: Rule | None) -> None:
    """Asks for a rule; `rule` as it is, or a new one of this job, or (without one) of every job."""

    @dialog(f"Alert {rule.name}" if rule else "New rule")
    def ask() -> None:
        with errors_shown():
            shown = session.workspace().ask(ShowAlerts(job))
            typed = _typed(job, rule, [seen.channel for seen in shown.channels])
            removes = bool(rule) and st.checkbox("Remove this rule", key="rule_remove")
            change = SetAlert(rule.name, job, remove=True) if rule and removes else _change(rule, typed)
            if rule is None and (same := _of_that_name(typed["job"], typed["name"])) is not None:
                st.caption(f"There is a rule of this name: it fires when {words.spelt(same)}. What is set here changes it.")
            ending(_planned(change), "Remove rule" if removes else "Set rule", "rule", danger=removes)

    ask()


def ask_silence(job: str, rule: str) -> None:
    """Asks for how long no message is sent of this alert, of this job, or (without names) of all."""

    @dialog(f"Silence {rule or 'all alerts'}{f' of {job}' if job else ''}")
    def ask() -> None:
        with errors_shown():
            st.caption("No message is sent meanwhile; alerts are still shown. What still fires afterwards is sent then.")
            long = st.text_input("For", "2h", key="silence_for", help="Such as 30m, 2h or 1d") or ""
            ending(_planned(_read(lambda: SilenceAlerts(job, rule, for_ms=duration_ms(long)))), "Silence", "silenced")

    ask()


def ask_channel() -> None:
    """Asks for a channel: its name, and where its address is."""

    @dialog("Add a channel")
    def ask() -> None:
        with errors_shown():
            st.caption(ADDRESS)
            name = st.text_input("Name", key="channel_name", placeholder="oncall") or ""
            env = st.text_input("Environment variable of the server", key="channel_env", placeholder="TIDEMARK_ONCALL_URL") or ""
            file = st.text_input("Or a file on its machine", key="channel_file", placeholder="/run/secrets/oncall") or ""
            given = name and (env or file)
            ending(_planned(_read(lambda: SetChannel(name, env.strip(), file.strip())) if given else None), "Add channel", "channel")

    ask()


def _of_that_name(job: str, name: str) -> Rule | None:
    """The rule that a new one would change."""
    rules = session.workspace().ask(ShowAlerts(job)).rules
    return next((placed.rule for placed in rules if (placed.job, placed.rule.name) == (job, name)), None)


def figures_help() -> str:
    """All figures as a list in Markdown: first those that `/metrics` has under the longer name."""
    told = {name: f"- `{name}`: {figure.says}" for name, figure in ALERTABLE.items()}
    exposed = [line for name, line in told.items() if name in EXPOSED]
    alone = [line for name, line in told.items() if name not in EXPOSED]
    grows = f"- `{GROWTH}state_bytes in 1h`: by how much it has grown in that time; so of {', '.join(f'`{name}`' for name in GROWING)}"
    own = f"- `{OBSERVED}NAME.COLUMN`: a number that the job observes itself (`df.observe`)"
    return "\n".join(
        [f"In `/metrics` with `{METRIC}` before the name, which may be typed here, too:\n", *exposed, own, "\nOnly here:\n", *alone, grows]
    )


def _typed(job: str, rule: Rule | None, channels: Sequence[Channel]) -> dict[str, Any]:
    """What is typed of a rule; `job` is empty for every job."""
    typed: dict[str, Any] = {"job": job, "name": rule.name if rule else ""}
    if rule is None:
        typed["name"] = st.text_input("Name", key="rule_name", placeholder="lag") or ""
        jobs = [EVERY_JOB, *sorted(str(summary.job.name) for summary in session.shared(ListJobs()))]
        of = st.selectbox("Of", jobs, index=jobs.index(job) if job in jobs else 0, key="rule_job") or EVERY_JOB
        typed["job"] = "" if of == EVERY_JOB else of
    before = FINDING if rule and rule.when in list(Problem) else FIGURE
    how = st.segmented_control("When", (FIGURE, FINDING), default=before, required=True, key="rule_how") or before
    if how == FINDING:
        problems = [str(problem) for problem in Problem if problem is not Problem.ALERT]
        place = problems.index(rule.when) if rule and rule.when in problems else 0
        typed["when"] = st.selectbox("Finding", problems, index=place, key="rule_finding") or problems[0]
    else:
        when = rule.when if rule and before == FIGURE else "event_time_lag_seconds > 5m"
        typed["when"] = st.text_input("Threshold", when, key="rule_when", help=figures_help()) or ""
        value = rule.clear if rule else ""
        typed["clear"] = st.text_input("Over at", value, key="rule_clear", placeholder="the threshold", help=OVER_AT) or ""
    for column, (field, label, help) in zip(st.columns(len(TIMES), gap="small"), TIMES, strict=True):
        before_ms = getattr(rule, field) if rule else 0
        with column:
            typed[field] = st.text_input(label, spelt_duration(before_ms) if before_ms else "", key=f"rule_{field}", help=help) or ""
    if channels:
        chosen = list(rule.channels) if rule else []
        names = list(dict.fromkeys([*(channel.name for channel in channels), *chosen]))
        typed["channels"] = tuple(st.multiselect("Send to", names, chosen, key="rule_channels", placeholder="Every channel"))
    typed["off"] = not st.toggle("On", not (rule and rule.off), key="rule_on")
    return typed


def _change(rule: Rule | None, typed: dict[str, Any]) -> SetAlert | None:
    """What differs from the rule as it is; None where nothing does, or a text cannot be read, which is said."""
    if not typed["name"]:
        return None
    base = rule or Rule(typed["name"], "")

    def made() -> SetAlert | None:
        given: dict[str, Any] = {name: duration_ms(typed[name]) if typed[name].strip() else 0 for name, _, _ in TIMES}
        given |= {"when": typed["when"], "off": typed["off"], "channels": typed.get("channels", base.channels)}
        given["clear"] = typed.get("clear", "")
        differing = {name: value for name, value in given.items() if value != getattr(base, name)}
        if "when" in differing and given["clear"]:
            differing["clear"] = given["clear"]
        if differing.get("clear") == "":
            differing["when"], differing["clear"] = typed["when"], _threshold(typed["when"])
        if "channels" in differing and not differing["channels"]:
            differing["channels"] = (EVERY_CHANNEL,)
        return SetAlert(typed["name"], typed["job"], **differing) if differing else None

    return _read(made)


def _threshold(when: str) -> str:
    """The value that a rule is compared with, which is behind its last sign; empty for a finding."""
    *before, limit = re.split("[<>]=?", when)
    return limit.strip() if before else ""


def _read(make: Callable[[], C | None]) -> C | None:
    """What `make` makes of what was typed; None where it cannot be read, which is said."""
    try:
        return make()
    except TidemarkError as error:
        error_box(error)
        return None


def _planned(change: C | None) -> C | None:
    """The change; None where it is refused, which is said."""
    if change is None:
        return None
    try:
        session.workspace().plan(change)
    except TidemarkError as error:
        error_box(error)
        return None
    return change
