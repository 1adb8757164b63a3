"""`alerts`: rules on findings and figures, what fires, and who is told."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.alerts import Alerts
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.verbs.verb import Http, Question, argument

ALERT = "Name of an alert."
CHANNEL = "Name of a channel."


@dataclass(frozen=True)
class ShowAlerts(Question[Alerts]):
    """Show alerts. The answer has the rules, those that are pending or fire, silences that last, and channels: of an address only where it
    is."""

    job: str = argument("Name of a job; without one of all jobs and the workspace.", "")

    call, topic = "alerts", "alerts"
    role = Role.VIEWER
    http = Http("GET", "/alerts")
    also = (Http("GET", "/jobs/{job}/alerts", name="job_alerts"),)
    command = "alerts"
    refuses = (NotFound, Corrupt)
