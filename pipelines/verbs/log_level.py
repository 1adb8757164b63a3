"""`log-level`: how much a running driver writes into its log."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.log_levels import ROOT, Level, LogLevels
from pipelines.verbs.forget import JOB
from pipelines.verbs.verb import Change, Http, Question, argument, named, option


@dataclass(frozen=True)
class LogLevelPlan:
    """The level that a logger of a job's run is to have."""

    job: JobName
    run: RunId
    logger: str
    before: Level
    """What was asked for before; `usual` where nothing was."""
    after: Level


@dataclass(frozen=True)
class ShowLogLevels(Question[LogLevels]):
    """Show which levels of a job's log were changed. They are of its newest run; the answer says what log4j has, and since when."""

    job: str = named(JOB)

    call, topic = "log_levels", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/jobs/{job}/log-levels")
    within = "log-level"
    refuses = (NotFound, Conflict)


@dataclass(frozen=True)
class SetLogLevel(Change[LogLevels, LogLevelPlan]):
    """Change the level of a job's log while it runs. The driver sets it within a second or two, or as soon as it has a Spark: the answer
    says when, or that it has not yet. It holds until the run ends; the next one begins with what its version says."""

    job: str = named(JOB)
    level: Level | None = argument("usual is what it was before anybody changed it.", None)
    logger: str = option("A class or a package of the JVM, with all that is in it; root is the log as a whole.", ROOT)

    call, topic = "set_log_level", "jobs"
    role = Role.OPERATOR
    http = Http("PATCH", "/jobs/{job}/log-levels")
    command, shell = "log-level", "Without a level it shows which were changed."
    refuses = (NotFound, Conflict)

    def unchanged(self) -> ShowLogLevels | None:
        """Nothing is given: the levels are shown."""
        return ShowLogLevels(self.job) if self.level is None else None
