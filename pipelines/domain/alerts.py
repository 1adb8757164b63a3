"""Alerts: what becomes of a rule that holds as time passes (pending, firing, resolved, as Prometheus has them), and who is told."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.domain.alert_rules import Reading, Rule
from pipelines.domain.bounds import Moment
from pipelines.domain.ids import JobName

AGAIN_MS = 600_000
"""A message that no attempt could send is tried again after so long, while it still holds."""


class AlertState(enum.StrEnum):
    """Pending holds for less than its rule's time; resolved is kept until its end is said."""

    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True)
class Channel:
    """Where messages go. Its Apprise address holds secrets: it is in an environment variable of the server or in a file, and read when
    a message is sent."""

    name: str
    env: str = ""
    file: str = ""


@dataclass(frozen=True)
class Silence:
    """No message of these alerts is sent before `until_ms`; empty names stand for every one."""

    job: str
    rule: str
    until_ms: Moment
    by: str
    at_ms: Moment

    def covers(self, alert: Alert, now_ms: int) -> bool:
        return now_ms < self.until_ms and self.job in ("", alert.job) and self.rule in ("", alert.rule)


@dataclass(frozen=True)
class Told:
    """What a channel was told of an alert, and why the newest message could not be sent."""

    channel: str
    firing_ms: Moment | None = None
    resolved_ms: Moment | None = None
    failed_ms: Moment | None = None
    error: str = ""


@dataclass(frozen=True)
class Alert:
    """A rule that holds for a job, or did until lately."""

    rule: str
    job: JobName
    state: AlertState
    since_ms: Moment
    """Since when it holds."""
    words: str
    """What was found when it was last read; of one that is over what it was before."""
    fired_ms: Moment | None = None
    over_ms: Moment | None = None
    """Since when it no longer holds, while it is not resolved yet."""
    resolved_ms: Moment | None = None
    acknowledged_ms: Moment | None = None
    acknowledged_by: str = ""
    told: tuple[Told, ...] = ()

    def told_of(self, channel: str) -> Told:
        return next((told for told in self.told if told.channel == channel), Told(channel))

    def telling(self, told: Told) -> Alert:
        """The alert with what this channel was told."""
        return replace(self, told=(*(record for record in self.told if record.channel != told.channel), told))

    def is_same(self, other: Alert) -> bool:
        """Whether both are the same occurrence of the same rule."""
        return (self.rule, self.job, self.since_ms) == (other.rule, other.job, other.since_ms)


@dataclass(frozen=True)
class AlertSettings:
    """`alerts.json`: the rules of every job that has none of that name, the channels, and the silences."""

    rules: tuple[Rule, ...] = ()
    channels: tuple[Channel, ...] = ()
    silences: tuple[Silence, ...] = ()


@dataclass(frozen=True)
class AlertStates:
    """`alert-states.json`: alerts that hold, and those whose end is still to be said."""

    alerts: tuple[Alert, ...] = ()


@dataclass(frozen=True)
class PlacedRule:
    """A rule, and the job that it is of; empty for the workspace's."""

    job: str
    rule: Rule


@dataclass(frozen=True)
class ChannelSeen:
    """A channel, and whether its variable or its file is there; what it says is shown nowhere."""

    channel: Channel
    is_given: bool


@dataclass(frozen=True)
class Alerts:
    """Rules with what they find now, of a job or (without one) of all; silences that last, and channels."""

    job: str
    rules: tuple[PlacedRule, ...]
    alerts: tuple[Alert, ...]
    """Pending and firing ones, the longest first."""
    silences: tuple[Silence, ...]
    channels: tuple[ChannelSeen, ...]


def advance(rule: Rule, job: JobName, before: Alert | None, reading: Reading, now_ms: int) -> Alert | None:
    """What becomes of an alert, pending or firing, as it is read now; None where there is none."""
    if before is None:
        if not reading.holds:
            return None
        before = Alert(rule.name, job, AlertState.PENDING, now_ms, reading.words)
    if before.state is AlertState.PENDING:
        if not reading.holds:
            return None if reading.is_over else before
        due = now_ms - before.since_ms >= rule.for_ms
        return replace(before, state=AlertState.FIRING, fired_ms=now_ms, words=reading.words) if due else before
    if not reading.is_over:
        return replace(before, over_ms=None, words=reading.words or before.words)
    over_ms = now_ms if before.over_ms is None else before.over_ms
    return resolved(before, now_ms) if now_ms - over_ms >= rule.clear_for_ms else replace(before, over_ms=over_ms)


def resolved(alert: Alert, now_ms: int) -> Alert:
    return replace(alert, state=AlertState.RESOLVED, resolved_ms=now_ms, over_ms=None)


def is_due(alert: Alert, channel: str, repeat_ms: int, silences: Sequence[Silence], now_ms: int) -> bool:
    """Whether the channel is to be told of the alert now. The end of one that it was told of is told also in a silence."""
    told = alert.told_of(channel)
    if told.failed_ms is not None and now_ms - told.failed_ms < AGAIN_MS:
        return False
    if alert.state is AlertState.RESOLVED:
        return told.firing_ms is not None and told.resolved_ms is None
    if alert.state is AlertState.PENDING or alert.acknowledged_ms is not None or any(silence.covers(alert, now_ms) for silence in silences):
        return False
    return told.firing_ms is None or bool(repeat_ms and now_ms - told.firing_ms >= repeat_ms)
