"""`savepoint`: one is taken of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.savepoints import Savepoint, TakePlan
from pipelines.domain.texts import LABEL
from pipelines.verbs.forget import JOB
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option

UNTESTED = "Also in a storage that Tidemark's tests know from an emulator at most (gs://, abfss://); `home check` tries it out."


@dataclass(frozen=True)
class Take(Change[Savepoint, TakePlan]):
    """Take a savepoint of a job. It is of the newest committed batch, of `batch`, of the newest one committed at or before a time, or of
    the newest one whose watermark was at or before an event time. It goes into the workspace, to a `home`, or `to` a URL. The job may run
    or not, and does not notice."""

    job: str = named(JOB)
    batch: int | Mapping[str, int] | None = option(
        "Take it of this batch, one that Spark still keeps. With several queries name the query, once for each; of one that is not named "
        "it is the newest.",
        None,
        metavar="[QUERY=]N",
        reads=Reads.BATCHES,
        least=0,
    )
    at_ms: int | None = option(
        "Take it of the newest batch that was committed at or before: 2027-01-15T08:00, 08:00:30 (today) or -10m.",
        None,
        flag="--at",
        metavar="TIME",
        reads=Reads.MOMENT,
    )
    event_ms: int | None = option(
        "Take it of the newest batch whose watermark was at or before this event time; written like --at.",
        None,
        flag="--event-time",
        metavar="TIME",
        reads=Reads.MOMENT,
    )
    label: str = option("A note to find the savepoint by.", "", text=LABEL)
    to: str = option("Export it to this path or URL instead of keeping it in the workspace.", "", metavar="URL", reads=Reads.PLACE)

    home: str = option(
        "Keep it in this folder (s3://bucket/folder, or a path outside of the workspace): beside the job's state the storage copies it by "
        "itself. It is listed, forked, exported and disposed of like any other.",
        "",
        metavar="URL",
        reads=Reads.PLACE,
    )

    untested: bool = option(UNTESTED, False, flag="--untested")

    call, topic = "take", "jobs"
    role = Role.OPERATOR
    http = Http("POST", "/jobs/{job}/savepoints", 201)
    command, shell = "savepoint", "Prints the savepoint's path and nothing else on stdout."
    refuses = (NotFound, AlreadyExists, Conflict, Corrupt, Unsupported, Unavailable)
    kinds = {"take": Kind("Taking a savepoint of", "Took a savepoint of", makes=True)}
    prints = "{0.path}"

    def works_as(self, plan: TakePlan) -> Works:
        return Works("export", plan.job, plan.to) if plan.to else Works("take", plan.job)

    def result(self, answer: Savepoint) -> str:
        return answer.path if self.to else answer.id
