"""Rules of alerts: a job's are part of its `job.json`, the workspace's of `alerts.json`; each is replaced whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from pipelines.catalog import jobs as job_rows
from pipelines.domain.alert_rules import GROWTH, METRIC, OBSERVED, Rule, alert_name, condition
from pipelines.domain.alerts import Alerts, AlertSettings, ChannelSeen, PlacedRule
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.domain.moments import LONGEST_MS
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.set_alert import SetAlert, SetAlertPlan
from pipelines.words import alerts as words
from pipelines.words.figures import ALERTABLE
from pipelines.workspace import events, message_worker, repairs, runs
from pipelines.workspace.alerts import states
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, answers, plans

LOCK = "alerts"
MOST_RULES = 100
ALL = "all"
"""Instead of channels: every one."""


@answers(ShowAlerts)
def show(context: Context, question: ShowAlerts) -> Alerts:
    """Raises NotFound (`job.not_found`)."""
    return shown(context, runs.known(context, question.job) if question.job else JobName(""))


def shown(context: Context, name: JobName) -> Alerts:
    settings, now_ms = context.files.alert_settings(), context.now_ms()
    rules = _placed(settings, [repairs.known_job(context, name)] if name else _jobs(context))
    lasting = tuple(silence for silence in settings.silences if silence.until_ms > now_ms and (not name or silence.job in ("", name)))
    channels = tuple(ChannelSeen(channel, message_worker.is_given(channel)) for channel in settings.channels)
    return Alerts(name, rules, states.of_job(context, name), lasting, channels)


def _placed(settings: AlertSettings, jobs: Sequence[Job]) -> tuple[PlacedRule, ...]:
    own = (PlacedRule(job.name, rule) for job in jobs for rule in job.alerts)
    return (*own, *(PlacedRule("", rule) for rule in settings.rules))


def naming(context: Context, channel: str) -> list[str]:
    """Rules that name the channel, in words: `lag of counts`, `failed of every job`."""
    placed_rules = _placed(context.files.alert_settings(), _jobs(context))
    return [f"{placed.rule.name} of {placed.job or 'every job'}" for placed in placed_rules if channel in placed.rule.channels]


@plans(SetAlert)
def plan(context: Context, change: SetAlert) -> Planned[Alerts, SetAlertPlan]:
    """Raises NotFound (`job.not_found`, `alert.not_found`, `channel.not_found`), and Invalid for a rule that cannot be."""
    name = runs.known(context, change.job) if change.job else JobName("")
    before = _of(context, name)
    after = _changed(context, name, before, change)
    return Planned(SetAlertPlan(name, _named(before, change.alert), _named(after, change.alert)), lambda _: _set(context, name, change))


def _set(context: Context, name: JobName, change: SetAlert) -> Alerts:
    """Applies one change at a time to the newest rules and channels: first the file, then the index."""
    with context.claiming(LOCK), context.holding(name) if name else nullcontext():
        before = _of(context, name)
        after = _changed(context, name, before, change)
        if after != before and name:
            repairs.save(context, replace(repairs.known_job(context, name), alerts=after))
        elif after != before:
            context.files.write(context.layout.alerts_file, replace(context.files.alert_settings(), rules=after))
    if after != before:
        rule, of = _named(after, change.alert), f" of {name}" if name else ""
        text = words.spelt(rule) if rule else "removed"
        events.say(context, "alert.set" if rule else "alert.removed", name or None, change.alert, f"alert {change.alert}{of}: {text}")
    return shown(context, name)


def _changed(context: Context, name: JobName, before: tuple[Rule, ...], change: SetAlert) -> tuple[Rule, ...]:
    """The rules with the change; Invalid where the changed one cannot be read, or tells nobody that there is."""
    old = _named(before, alert_name(change.alert))
    others = tuple(rule for rule in before if rule.name != change.alert)
    if change.remove:
        if old is None:
            raise _unknown(change.alert, f"of {name or 'the workspace'}")
        return others
    if len(others) >= MOST_RULES:
        raise Invalid("alert.many", f"There are {MOST_RULES} alerts already", "Remove one first.")
    usual = _named(context.files.alert_settings().rules, change.alert) if name else None
    rule = _given(old or usual, change)
    _check(context, rule)
    return tuple(rule if earlier is old else earlier for earlier in before) if old else (*before, rule)


def _given(old: Rule | None, change: SetAlert) -> Rule:
    """The rule with what is given. Another condition has a clear threshold of its own."""
    if old is None and not change.when:
        raise Invalid("alert.when", f"The alert {change.alert!r} says not when", "Give --when 'event_time_lag_seconds > 5m', or a finding.")
    rule = old or Rule(change.alert, "")
    if change.when and change.when != rule.when:
        rule = replace(rule, when=" ".join(change.when.split()).removeprefix(METRIC), clear="")
    times = {name: value for name in ("for_ms", "clear_for_ms", "repeat_ms") if (value := getattr(change, name)) is not None}
    rule = replace(rule, clear=change.clear or rule.clear, off=rule.off if change.off is None else change.off, **times)
    return replace(rule, channels=() if change.channels == (ALL,) else tuple(dict.fromkeys(change.channels))) if change.channels else rule


def refuse_unknown(context: Context, name: JobName, alert: str) -> None:
    """Raises NotFound (`alert.not_found`) for an alert that neither the job (without one: no job) nor the workspace has."""
    jobs = [repairs.known_job(context, name)] if name else _jobs(context)
    if _named([*context.files.alert_settings().rules, *(rule for job in jobs for rule in job.alerts)], alert) is None:
        raise _unknown(alert, f"of {name or 'any job'} or the workspace")


def check_figure(rule: Rule) -> None:
    """Raises what `condition` does, and Invalid (`alert.when`) for a figure that there is none of."""
    when = condition(rule)
    if when.figure and not when.observed and not when.growth and when.figure not in ALERTABLE:
        own = f"of the job's own numbers '{OBSERVED}NAME.COLUMN', of what grows '{GROWTH}state_bytes in 1h'"
        hint = f"Figures are {', '.join(ALERTABLE)}, and {own}; `/metrics` has {METRIC} before them."
        raise Invalid("alert.when", f"There is no figure {when.figure!r}", hint)


def _check(context: Context, rule: Rule) -> None:
    check_figure(rule)
    if max(rule.for_ms, rule.clear_for_ms, rule.repeat_ms) > LONGEST_MS:
        raise Invalid("alert.longest", "No time of an alert is longer than 366 days", "Give a shorter one.")
    known = {channel.name for channel in context.files.alert_settings().channels}
    for channel in rule.channels:
        if channel not in known:
            raise NotFound("channel.not_found", f"There is no channel {channel!r}", "Add it with `alert channel`, or give 'all'.")


def _of(context: Context, name: JobName) -> tuple[Rule, ...]:
    return repairs.known_job(context, name).alerts if name else context.files.alert_settings().rules


def _named(rules: Sequence[Rule], name: str) -> Rule | None:
    return next((rule for rule in rules if rule.name == name), None)


def _unknown(alert: str, of: str) -> NotFound:
    return NotFound("alert.not_found", f"There is no alert {alert!r} {of}", "See them with `alerts`.")


def _jobs(context: Context) -> list[Job]:
    with context.catalog.reading() as reader:
        return job_rows.listed(reader)
