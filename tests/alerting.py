"""What the fake plans and answers for changes of alerts: a part of `tests.changes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipelines.domain.alert_rules import Rule
from pipelines.domain.alerts import Channel, Silence
from pipelines.domain.ids import JobName
from pipelines.verbs.acknowledge import Acknowledge, AcknowledgePlan
from pipelines.verbs.channel import ChannelPlan, SetChannel
from pipelines.verbs.set_alert import SetAlert, SetAlertPlan
from pipelines.verbs.silence import SilenceAlerts, SilencePlan
from pipelines.verbs.try_channel import TryChannel, TryChannelPlan
from pipelines.verbs.verb import Change
from tests import samples

if TYPE_CHECKING:
    from tests.faces import FakeFace

Told = Mapping[type[Change[Any, Any]], "Callable[[FakeFace, Any], Any]"]


def _silence(change: SilenceAlerts) -> Silence:
    until_ms = 0 if change.end else change.until_ms or samples.NOW_MS + (change.for_ms or 0)
    return Silence(change.job, change.rule, until_ms, "", samples.NOW_MS)


PLANS: Told = {
    SetAlert: lambda face, it: SetAlertPlan(JobName(it.job), None, None if it.remove else Rule(it.alert, it.when)),
    SetChannel: lambda face, it: ChannelPlan(None, None if it.remove else Channel(it.channel, it.env, it.file)),
    TryChannel: lambda face, it: TryChannelPlan(Channel(it.channel, env="TIDEMARK_ONCALL_URL")),
    Acknowledge: lambda face, it: AcknowledgePlan(JobName(it.job), it.alert, "up is 0; limit < 1"),
    SilenceAlerts: lambda face, it: SilencePlan(_silence(it)),
}
ANSWERS: Told = {
    SetAlert: lambda face, it: samples.alerts(it.job),
    SetChannel: lambda face, it: samples.alerts(""),
    TryChannel: lambda face, it: None,
    Acknowledge: lambda face, it: replace(samples.alerts(it.job).alerts[0], acknowledged_ms=samples.NOW_MS, acknowledged_by="alice"),
    SilenceAlerts: lambda face, it: samples.alerts(it.job),
}
