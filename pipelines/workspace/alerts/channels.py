"""Channels of alerts, silences of them, and a test message: parts of `alerts.json`, which is replaced whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pipelines.domain.alert_rules import alert_name
from pipelines.domain.alerts import Alerts, AlertSettings, Channel, Silence
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.moments import LONGEST_MS
from pipelines.verbs.channel import ChannelPlan, SetChannel
from pipelines.verbs.silence import SilenceAlerts, SilencePlan
from pipelines.verbs.try_channel import TryChannel, TryChannelPlan
from pipelines.words import alerts as words
from pipelines.words import formats
from pipelines.workspace import events, message_worker, runs
from pipelines.workspace.alerts import rules
from pipelines.workspace.context import Context
from pipelines.workspace.doers import Planned, plans

MOST_CHANNELS = 20
MOST_SILENCES = 100
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


@plans(SetChannel)
def plan(context: Context, change: SetChannel) -> Planned[Alerts, ChannelPlan]:
    """Raises NotFound (`channel.not_found`), Invalid (`channel.place`, `channel.many`, `alert.name`)."""
    before = find(context.files.alert_settings(), change.channel)
    _changed(context.files.alert_settings(), change)
    after = None if change.remove else Channel(change.channel, change.env, change.file)
    return Planned(ChannelPlan(before, after), lambda _: _set(context, change))


def _set(context: Context, change: SetChannel) -> Alerts:
    _write(context, lambda settings: _changed(settings, change))
    text = "removed" if change.remove else f"its address is in {words.place(Channel(change.channel, change.env, change.file))}"
    events.say(context, "alert.channel", None, change.channel, f"channel {change.channel}: {text}")
    return rules.shown(context, JobName(""))


def _changed(settings: AlertSettings, change: SetChannel) -> AlertSettings:
    others = tuple(channel for channel in settings.channels if channel.name != alert_name(change.channel))
    if change.remove:
        if len(others) == len(settings.channels):
            raise _unknown(change.channel)
        return replace(settings, channels=others)
    if change.env and not change.file and not _VARIABLE.fullmatch(change.env):
        hint = "Letters, digits and '_', beginning with no digit: TIDEMARK_ONCALL_URL. The address itself is given nowhere."
        raise Invalid("channel.place", "What is given is no name of an environment variable", hint)
    if bool(change.env) == bool(change.file):
        hint = "Give --env NAME of a variable of the server, or --file PATH; never the address itself."
        raise Invalid("channel.place", "A channel's address is in one environment variable, or in one file", hint)
    if change.file and ("://" in change.file or not Path(change.file).is_absolute()):
        raise Invalid("channel.place", "The file of a channel is a whole path on the server's machine", "Give --file /run/secrets/oncall.")
    if len(others) >= MOST_CHANNELS:
        raise Invalid("channel.many", f"There are {MOST_CHANNELS} channels already", "Remove one first.")
    return replace(settings, channels=(*others, Channel(change.channel, change.env, change.file)))


@plans(TryChannel)
def plan_try(context: Context, change: TryChannel) -> Planned[None, TryChannelPlan]:
    """Raises NotFound (`channel.not_found`), and what `message_worker.send` raises."""
    channel = find(context.files.alert_settings(), change.channel)
    if channel is None:
        raise _unknown(change.channel)
    message = words.Message(words.TEST_TITLE, words.TEST_BODY, "info")
    return Planned(TryChannelPlan(channel), lambda _: message_worker.send(context.message_workers, channel, message))


@plans(SilenceAlerts)
def plan_silence(context: Context, change: SilenceAlerts) -> Planned[Alerts, SilencePlan]:
    """Raises NotFound (`job.not_found`, `alert.not_found`, `silence.not_found`), Invalid (`silence.until`)."""
    name = runs.known(context, change.job) if change.job else JobName("")
    now_ms = context.now_ms()
    until_ms = 0 if change.end else change.until_ms if change.until_ms is not None else now_ms + (change.for_ms or 0)
    if not change.end and not now_ms < until_ms <= now_ms + LONGEST_MS:
        raise Invalid(
            "silence.until", "A silence lasts until a time to come, at most 366 days", "Give --for 2h or --until 2027-01-15T08:00."
        )
    if change.rule and not change.end:
        rules.refuse_unknown(context, name, change.rule)
    silence = Silence(name, change.rule and alert_name(change.rule), until_ms, context.actor, now_ms)
    _silenced(context.files.alert_settings(), silence)
    return Planned(SilencePlan(silence), lambda _: _silence(context, silence))


def _silence(context: Context, silence: Silence) -> Alerts:
    _write(context, lambda settings: _silenced(settings, silence))
    how = f"silenced for {_minutes(silence)}" if silence.until_ms else "no longer silenced"
    events.say(context, "alert.silenced", JobName(silence.job) if silence.job else None, silence.rule, f"{words.silence(silence)}: {how}")
    return rules.shown(context, JobName(silence.job))


def _minutes(silence: Silence) -> str:
    return formats.duration(silence.until_ms - silence.at_ms)


def _silenced(settings: AlertSettings, silence: Silence) -> AlertSettings:
    """The settings with it in place of the one of the same alerts, without those that are over."""
    lasting = tuple(other for other in settings.silences if other.until_ms > silence.at_ms)
    others = tuple(other for other in lasting if (other.job, other.rule) != (silence.job, silence.rule))
    if not silence.until_ms and others == lasting:
        raise NotFound("silence.not_found", "There is no such silence", "See them with `alerts`.")
    if len(others) >= MOST_SILENCES:
        raise Invalid("silence.many", f"There are {MOST_SILENCES} silences already", "End one first, or silence all alerts of a job.")
    return replace(settings, silences=(*others, silence) if silence.until_ms else others)


def _write(context: Context, changed: Callable[[AlertSettings], AlertSettings]) -> None:
    """Applies one change at a time to the newest settings."""
    with context.claiming(rules.LOCK):
        context.files.write(context.layout.alerts_file, changed(context.files.alert_settings()))


def find(settings: AlertSettings, name: str) -> Channel | None:
    return next((channel for channel in settings.channels if channel.name == name), None)


def _unknown(name: str) -> NotFound:
    return NotFound("channel.not_found", f"There is no channel {name!r}", "See them with `alerts`, add it with `alert channel`.")
