"""`history`: a run's event log in Spark's own history server."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, NotFound, Unavailable
from pipelines.domain.ids import JobName, RunId
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option


@dataclass(frozen=True)
class HistoryPlan:
    """The event log that will be shown."""

    job: JobName
    run: RunId
    application: str
    """Spark's id of it."""
    bytes: int
    """Size of the event log."""


@dataclass(frozen=True)
class HistoryPlace:
    """Where Spark's history server shows a run. It answers on the server's machine alone, and to everybody on that machine."""

    job: JobName
    run: RunId
    application: str
    url: str
    tunnel: str
    """The command that brings it to another machine's browser."""


@dataclass(frozen=True)
class OpenHistory(Change[HistoryPlace, HistoryPlan]):
    """Open a run's event log in Spark's own history server. That is begun if it does not run, shows the event logs of all jobs of the
    workspace, and ends a quarter of an hour after the last look, and with the server. A run keeps an event log where its confs say so
    (`--event-log`)."""

    job: str = named(JOB)
    run: str = option("Id of a run; the newest one if empty.", "", metavar="RUN")

    call, topic = "open_history", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/history")
    command, shell = "history", "Prints its address."
    refuses = (NotFound, Conflict, Unavailable)
    kinds = {"history": Kind("Opening the event log of", "Opened the event log of", about="{subject} of {job}")}
    prints = "{0.url}"

    def works_as(self, plan: HistoryPlan) -> Works:
        return Works("history", plan.job, plan.run)

    def result(self, answer: HistoryPlace) -> str:
        return answer.url
