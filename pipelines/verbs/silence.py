"""`alert silence`: no message for some time."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.alerts import Alerts, Silence
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, argument, duration, option


@dataclass(frozen=True)
class SilencePlan:
    """The silence that will be, or (until 0) the one that ends."""

    silence: Silence


@dataclass(frozen=True)
class SilenceAlerts(Change[Alerts, SilencePlan]):
    """Send no message of alerts until a time. They are shown all the same; what still fires then is sent then. The end of one that was sent
    before is sent at once."""

    job: str = argument("Only those of this job.", "")
    rule: str = option("Only the alert of this name.", "", flag="--alert", metavar="ALERT")
    for_ms: int | None = duration("For so long: 2h.", "--for", least=1)
    until_ms: int | None = option(
        "Until this time: 2027-01-15T08:00 or 18:00:00 (today).", None, flag="--until", metavar="TIME", reads=Reads.MOMENT, least=0
    )
    end: bool = option("End the silence.", False, flag="--end")

    call, topic = "silence", "alerts"
    role = Role.OPERATOR
    http = Http("POST", "/silences")
    command = "alert silence"
    refuses = (NotFound, Corrupt)
