"""`alert channel`: where messages of alerts go."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain import texts
from pipelines.domain.access import Role
from pipelines.domain.alerts import Alerts, Channel
from pipelines.domain.errors import Conflict, Corrupt, NotFound
from pipelines.verbs.alerts import CHANNEL
from pipelines.verbs.verb import Change, Http, named, option


@dataclass(frozen=True)
class ChannelPlan:
    """A channel as it is, and as it will be; None where there is none."""

    before: Channel | None
    after: Channel | None


@dataclass(frozen=True)
class SetChannel(Change[Alerts, ChannelPlan]):
    """Set where messages of alerts go. The address is one of Apprise (json://host/path, slack://…, mailto://…) and holds secrets: it stays
    in a variable of the server's environment or in a file, is read when a message is sent, and is never stored nor shown."""

    channel: str = named(CHANNEL)
    env: str = option("The environment variable of the server that holds the address.", "", metavar="VARIABLE")
    file: str = option("The file on the server's machine that holds the address.", "", metavar="PATH", text=texts.PLACE)
    remove: bool = option("Remove it, once no rule names it.", False, flag="--remove")

    call, topic = "set_channel", "alerts"
    role = Role.ADMIN
    http = Http("PATCH", "/channels/{channel}")
    command = "alert channel"
    refuses = (NotFound, Conflict, Corrupt)
    makes_workspace = True
