"""`alert test`: a test message to a channel."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.alerts import Channel
from pipelines.domain.errors import NotFound, Unavailable
from pipelines.verbs.alerts import CHANNEL
from pipelines.verbs.verb import Change, Http, named


@dataclass(frozen=True)
class TryChannelPlan:
    """Where the message will go."""

    channel: Channel


@dataclass(frozen=True)
class TryChannel(Change[None, TryChannelPlan]):
    """Send a test message to a channel. It is done once the channel's service has accepted it; it is sent once."""

    channel: str = named(CHANNEL)

    call, topic = "try_channel", "alerts"
    role = Role.OPERATOR
    http = Http("POST", "/channels/{channel}/test", 204)
    command = "alert test"
    refuses = (NotFound, Unavailable)
