"""`alert set`: from when on somebody is told."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.alert_rules import Rule
from pipelines.domain.alerts import Alerts
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import JobName
from pipelines.verbs.alerts import ALERT
from pipelines.verbs.verb import Change, Http, duration, named, option


@dataclass(frozen=True)
class SetAlertPlan:
    """A rule as it is, and as it will be; None where there is none."""

    job: JobName
    before: Rule | None
    after: Rule | None


@dataclass(frozen=True)
class SetAlert(Change[Alerts, SetAlertPlan]):
    """Set from when on somebody is told. What is not given stays. A job's rule stands before the workspace's of the same name. Forks of a
    job begin with its rules."""

    alert: str = named(ALERT)
    job: str = option("Only of this job; without one of every job that has no such rule of its own.", "")
    when: str = option(
        "A finding (failed, no-progress), or a figure with a threshold: 'event_time_lag_seconds > 5m'. Figures are those of /metrics, with "
        "tidemark_job_ before them or without; 'growth of state_bytes in 1h > 1e9' is by how much it grew; 'observed NAME.COLUMN > 5' "
        "is a number of the job's own (df.observe).",
        "",
        metavar="CONDITION",
    )
    clear: str = option("It is over once the figure is at this value; without it at the threshold.", "", metavar="VALUE")
    for_ms: int | None = duration("It fires once it has held for so long: 5m; 'usual' (0 over REST): at once.", "--for")
    clear_for_ms: int | None = duration("It is resolved once it has been over for so long; 'usual': at once.", "--clear-for")
    repeat_ms: int | None = duration("Say it again every so often until somebody acknowledges it; 'usual': once.", "--repeat")
    channels: tuple[str, ...] = option(
        "Send to this channel; again for several; 'all' is every one.", (), flag="--channel", metavar="CHANNEL"
    )  # fmt: skip
    off: bool | None = option("Whether the rule is off.", None, flag="--off/--on")
    remove: bool = option("Remove it.", False, flag="--remove")

    call, topic = "set_alert", "alerts"
    role = Role.OPERATOR
    http = Http("PATCH", "/alerts/{alert}")
    also = (Http("PATCH", "/jobs/{job}/alerts/{alert}", name="set_job_alert"),)
    command = "alert set"
    refuses = (NotFound, Corrupt)
    makes_workspace = True

    def left_to_server(self) -> str:
        return "" if self.remove or self.off else "it is looked whether the rule holds, and messages are sent"
