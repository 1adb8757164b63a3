"""`alert acknowledge`: somebody looks after it."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.alerts import Alert
from pipelines.domain.errors import Corrupt, NotFound
from pipelines.domain.ids import JobName
from pipelines.verbs.alerts import ALERT
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, named


@dataclass(frozen=True)
class AcknowledgePlan:
    """What is acknowledged."""

    job: JobName
    alert: str
    words: str


@dataclass(frozen=True)
class Acknowledge(Change[Alert, AcknowledgePlan]):
    """Say that somebody looks after an alert. It fires on, and is not said again until it was over."""

    job: str = named(JOB)
    alert: str = named(ALERT)

    call, topic = "acknowledge", "alerts"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/alerts/{alert}/acknowledge")
    command = "alert acknowledge"
    refuses = (NotFound, Corrupt)
