"""Alerts, their rules, silences and channels as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.additions import excludes, group
from pipelines.cli.descriptions import describes
from pipelines.domain.alert_rules import Rule
from pipelines.domain.alerts import Alert, Alerts, Channel, ChannelSeen, Silence
from pipelines.verbs.acknowledge import AcknowledgePlan
from pipelines.verbs.channel import ChannelPlan, SetChannel
from pipelines.verbs.set_alert import SetAlertPlan
from pipelines.verbs.silence import SilenceAlerts, SilencePlan
from pipelines.verbs.try_channel import TryChannelPlan
from pipelines.words import alerts as words
from pipelines.words import formats

group("alert", "Rules of alerts, and who is told.")
excludes(SetChannel, "env", "file")
excludes(SilenceAlerts, "for_ms", "until_ms")


@describes(Alerts)
def alerts_text(shown: Alerts, now_ms: int) -> str:
    """What fires, the rules, the silences, the channels."""
    pairs = [
        *(("alert", _alert(alert, now_ms)) for alert in shown.alerts),
        *(("rule", f"{placed.rule.name} of {placed.job or 'every job'}: {words.spelt(placed.rule)}") for placed in shown.rules),
        *(
            ("silence", f"{words.silence(silence)} until {formats.exact(silence.until_ms, None)}, by {silence.by}")
            for silence in shown.silences
        ),
        *(("channel", _channel(channel)) for channel in shown.channels),
    ]
    return output.details(pairs or [("rule", f"{formats.MISSING}: make one with `alert set`")])


@describes(Alert)
def alert_text(alert: Alert, now_ms: int) -> str:
    """One alert as it is."""
    return output.details([("alert", _alert(alert, now_ms))])


@describes(SetAlertPlan)
def rule_plan(plan: SetAlertPlan, now_ms: int) -> str:
    """A rule before and after a change."""
    return output.details([("of", plan.job or "every job"), ("before", _rule(plan.before)), ("afterwards", _rule(plan.after))])


@describes(ChannelPlan)
def channel_plan(plan: ChannelPlan, now_ms: int) -> str:
    """A channel before and after a change."""
    return output.details([("before", _place(plan.before)), ("afterwards", _place(plan.after))])


@describes(TryChannelPlan)
def test_plan(plan: TryChannelPlan, now_ms: int) -> str:
    """Where the message would go."""
    return output.details([("channel", plan.channel.name), ("address in", words.place(plan.channel))])


@describes(AcknowledgePlan)
def acknowledge_plan(plan: AcknowledgePlan, now_ms: int) -> str:
    """What would be acknowledged."""
    return output.details([("alert", f"{plan.job}: {plan.alert}"), ("says", plan.words)])


@describes(SilencePlan)
def silence_plan(plan: SilencePlan, now_ms: int) -> str:
    """What would be silent, and until when."""
    return output.details([("of", words.silence(plan.silence)), ("until", _until(plan.silence))])


def _alert(alert: Alert, now_ms: int) -> str:
    acknowledged = f"; acknowledged by {alert.acknowledged_by}" if alert.acknowledged_ms is not None else ""
    since = formats.ago(alert.since_ms, now_ms)
    return f"{alert.state.value}  {alert.job}: {alert.rule}, {alert.words}, since {since}; {words.told(alert)}{acknowledged}"


def _rule(rule: Rule | None) -> str:
    return words.spelt(rule) if rule else formats.MISSING


def _place(channel: Channel | None) -> str:
    return f"{channel.name}, address in {words.place(channel)}" if channel else formats.MISSING


def _channel(seen: ChannelSeen) -> str:
    return f"{_place(seen.channel)}{'' if seen.is_given else ', which is not there'}"


def _until(silence: Silence) -> str:
    return formats.exact(silence.until_ms, None) if silence.until_ms else "now"
