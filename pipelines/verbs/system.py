"""The workspace itself: how all jobs are, what happened, what it stands on, the example, the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.about import About
from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Corrupt, NotFound, Unavailable
from pipelines.domain.events import GROUPS
from pipelines.domain.experiments import Health
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Event, Run
from pipelines.domain.moments import DAY_MS
from pipelines.domain.space import Space
from pipelines.verbs.listing import Sorted
from pipelines.verbs.reads import Reads
from pipelines.verbs.rows import Rows
from pipelines.verbs.verb import Change, Http, Question, argument, option

EXAMPLE = "post_engagement"
"""What everything is shown with."""
ONLY_JOB = "Only those of this job."


@dataclass(frozen=True)
class ShowHealth(Question[Health]):
    """Show the health of all jobs. The answer is the overview's key figures, with small lines over the last 15 minutes or the
    span asked for."""

    span_ms: int = option("How far back the sparklines reach, in ms.", 900_000, least=60_000, most=31 * DAY_MS)

    call, topic = "health", "system"
    role = Role.VIEWER
    http = Http("GET", "/health")


@dataclass(frozen=True)
class ListEvents(Sorted, Question[Sequence[Event]]):
    """List what happened and who did it, newest first. Every filter that is given must fit; both times, epoch ms, count in. Where there may
    be more, the header `Link` (`rel="next"`) says where they are."""

    job: str = argument(ONLY_JOB, "")
    limit: int = option("At most this many, the first ones of its order.", 200, least=1, most=10_000)
    kind: str = option(f"A kind (run.failed), its first word, or one of {', '.join(GROUPS)}, failures, other.", "")
    text: str = option("Words that all occur in the event.", "")
    actor: str = option(
        "Who did it: page, command, REST, supervisor, driver, or who a call said it was by.", "", flag="--by", metavar="WHO"
    )
    from_ms: int | None = option(
        "Not before: 2027-01-15T08:00, 08:00:30 (today) or -10m.", None, flag="--since", metavar="TIME", reads=Reads.MOMENT
    )
    to_ms: int | None = option("Not after this time.", None, flag="--until", metavar="TIME", reads=Reads.MOMENT)
    before: str = option("Only what comes after the place that the last list ended with.", "", metavar="PLACE")

    call, topic = "events", "system"
    role = Role.VIEWER
    http = Http("GET", "/events")
    also = (Http("GET", "/jobs/{job}/events", name="job_events"),)
    command = "events"
    refuses = (NotFound,)
    pages_by = "before"
    rows = Rows.of("cursor", "at_ms")


@dataclass(frozen=True)
class ShowAbout(Question[About]):
    """Show runtimes, storage and server. The runtimes are those that jobs run on; of credentials the answer only says whether they are
    there."""

    call, topic = "about", "system"
    role = Role.VIEWER
    http = Http("GET", "/about")
    command = "about"
    refuses = (Corrupt, Unavailable)


@dataclass(frozen=True)
class ShowSpace(Question[Space]):
    """Show what savepoints take on disk. The answer has each one's full size and what disposing of it alone would free, and what all of
    them take together and share."""

    job: str = argument(ONLY_JOB, "")

    call, topic = "space", "space"
    role = Role.VIEWER
    http = Http("GET", "/space")
    within = "savepoints --sizes"
    refuses = (NotFound, Unavailable)


@dataclass(frozen=True)
class ExamplePlan:
    """What starting the example will do."""

    begins: tuple[JobName, ...]
    """Jobs that are begun, or go on; those that run are left alone."""


@dataclass(frozen=True)
class StartExample(Change[Sequence[Run], ExamplePlan]):
    """Start an example and what makes its input. By itself `post_engagement`, which counts, and the event generator `post_events`; jobs
    that run are left alone."""

    name: str = argument("One of `examples`.", EXAMPLE)
    inputs_only: bool = option("Start only what makes its input.", False)

    call, topic = "start_example", "system"
    role = Role.AUTHOR
    http = Http("POST", "/example", 201)
    command, shell = "example", "Prints their names and runs' ids."
    refuses = (NotFound, AlreadyExists, Unavailable)
    makes_workspace = True


@dataclass(frozen=True)
class RebuildPlan:
    """What rebuilding the catalog reads."""

    jobs: int
    savepoints: int


@dataclass(frozen=True)
class RebuildCatalog(Change[Mapping[str, int], RebuildPlan]):
    """Rebuild the index from the workspace's files. The answer is rows by table."""

    call, topic = "rebuild_catalog", "system"
    role = Role.ADMIN
    http = Http("POST", "/catalog/rebuild")
    command, shell = "catalog rebuild", "Prints rows by table."
    refuses = (Corrupt, Unavailable)
    rebuilds = True
