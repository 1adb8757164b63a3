"""`schedule`: when savepoints are taken and proved by themselves, how many of those are kept, and when jobs begin by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Conflict, Corrupt, NotFound
from pipelines.domain.schedules import MOST_CPUS, Given, SchedulePlan, ScheduleState
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, Question, argument, option

OF_JOB = "Name of a job; without one it is the workspace's, which holds for every job that does not say otherwise."
MOST_KEPT = 1_000_000


@dataclass(frozen=True)
class ShowSchedule(Question[ScheduleState]):
    """Show when savepoints are taken by themselves. The answer has the job's own schedule, the workspace's, what holds of both, the next
    three times, the next proof, and what came of the last ones."""

    job: str = argument(OF_JOB, "")

    call, topic = "schedule", "jobs"
    role = Role.VIEWER
    http = Http("GET", "/schedule")
    also = (Http("GET", "/jobs/{job}/schedule", name="job_schedule"),)
    within = "schedule"
    refuses = (NotFound, Corrupt)


@dataclass(frozen=True)
class SetSchedule(Change[ScheduleState, SchedulePlan]):
    """Set when savepoints are taken by themselves, and when a job that ends by itself begins again. What is not given stays; what a job
    does not set is the workspace's. Forks of a job begin with its schedule of savepoints. Only those taken by themselves are ever pruned,
    and proved by themselves."""

    job: str = argument(OF_JOB, "")
    cron: str | None = option("A cron expression of five fields: '0 * * * *' is every hour.", None)
    every_ms: int | None = option(
        "Every so often: 30m, 6h; at least 10s. Counted from midnight UTC where it divides a day, else (7h) from that of 1970-01-01. "
        "'usual' (0 over REST) is the workspace's.",
        None, flag="--every", metavar="DURATION", reads=Reads.DURATION, least=0,
    )  # fmt: skip
    off: bool = option("Take none by itself.", False, flag="--off")
    usual: bool = option("Forget all that was set here.", False, flag="--usual")
    zone: str | None = option(
        "Time zone of the cron expression and the blackout windows: Europe/Berlin; 'usual'.", None, flag="--tz", metavar="ZONE"
    )
    blackouts: tuple[str, ...] = option(
        "A window without savepoints: 22:00-06:00, 'Mon-Fri 08:00-10:00'; again for several; 'none', 'usual'.",
        (), flag="--blackout", metavar="WINDOW",
    )  # fmt: skip
    keep: int | None = option("Keep so many, the newest; 0 is what the workspace keeps.", None, metavar="N", least=0, most=MOST_KEPT)
    keep_ms: int | None = option(
        "Keep them for so long: 7d; 'usual' (0 over REST).", None, flag="--keep-for", metavar="DURATION", reads=Reads.DURATION, least=0,
    )  # fmt: skip
    keep_bytes: int | None = option(
        "Keep them while they take no more bytes on disk together; 0 is what the workspace keeps.", None, metavar="BYTES", least=0
    )
    keep_all: bool = option("Keep all of them, whatever the workspace keeps, until a limit is given.", False, flag="--keep-all")
    prove_at: str | None = option(
        "Prove the newest of them at these times, if it is not proved yet: a cron expression; 'off', 'usual'.", None, metavar="CRON"
    )
    run_at: str | None = option(
        "Begin the job again at these times, if it has ended: a cron expression, of a job alone; 'off'. A job that does not end by itself "
        "is refused.",
        None, flag="--run", metavar="CRON",
    )  # fmt: skip

    proof_limit_ms: int | None = option(
        "End such a proof after so long: 30m; 'usual' (0 over REST).",
        None, flag="--proof-limit", metavar="DURATION", reads=Reads.DURATION, least=0,
    )  # fmt: skip
    proof_cpus: int | None = option(
        "So many processors its Spark may keep busy; 0 is what the workspace says, or 2.",
        None, flag="--proof-processors", metavar="N", least=0, most=MOST_CPUS,
    )  # fmt: skip

    call, topic = "set_schedule", "jobs"
    role = Role.OPERATOR
    http = Http("PATCH", "/schedule")
    also = (Http("PATCH", "/jobs/{job}/schedule", name="set_job_schedule"),)
    command, shell = "schedule", "Without options it shows the schedule, with its next three times."
    refuses = (NotFound, Conflict, Corrupt)

    def unchanged(self) -> ShowSchedule | None:
        """Nothing is given: the schedule is shown."""
        return ShowSchedule(self.job) if self == SetSchedule(self.job) else None

    def left_to_server(self) -> str:
        return "" if self.off else "what is due by the schedule is done"

    def given(self) -> Given:
        """What is given, as the schedule is changed by it."""
        times = (self.cron, self.every_ms, self.off, self.usual)
        kept = (self.keep, self.keep_ms, self.keep_bytes)
        rest = (self.proof_limit_ms, self.proof_cpus, self.keep_all)
        return Given(*times, self.zone, self.blackouts, *kept, self.prove_at, self.run_at, *rest)
