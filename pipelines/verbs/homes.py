"""`home`: where savepoints are kept that are not in the workspace."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.errors import Corrupt, NotFound, Unsupported
from pipelines.domain.homes import HomeCheck, Homes
from pipelines.domain.ids import JobName
from pipelines.verbs.reads import Reads
from pipelines.verbs.take import UNTESTED
from pipelines.verbs.verb import Change, Http, Question, argument, option

JOBS = "Have jobs that begin from now on keep their checkpoint and their output there, too, unless they say otherwise (`run --home`)."


@dataclass(frozen=True)
class ListHomes(Question[Homes]):
    """List where savepoints lie, and where new ones will be kept."""

    call, topic = "homes", "system"
    role = Role.VIEWER
    http = Http("GET", "/homes")
    command = "home list"
    refuses = (Corrupt,)


@dataclass(frozen=True)
class HomePlan:
    """Where new savepoints are kept, and where they will be: a URL, `workspace`, or `usual`."""

    job: JobName
    """Empty for every job that does not say otherwise."""
    before: str
    after: str
    jobs: bool = False
    """Whether the checkpoints and outputs of new jobs will lie there, too."""


@dataclass(frozen=True)
class SetHome(Change[Homes, HomePlan]):
    """Set where new savepoints are kept: those that are taken by hand, by a schedule, and as a job stops. Those that Tidemark takes for its
    own work (before a resume, an upgrade, a promotion) stay in the workspace, and so does what was taken before."""

    home: str = argument(
        "A folder: s3://bucket/folder, hdfs://host:8020/folder, a path outside of the workspace; 'workspace'; of a job also 'usual'.",
        metavar="URL",
    )
    job: str = option("Of this job alone.", "", metavar="JOB")
    jobs: bool = option(JOBS, False, flag="--jobs")
    untested: bool = option(UNTESTED, False, flag="--untested")

    call, topic = "set_home", "system"
    role = Role.ADMIN
    http = Http("PATCH", "/homes")
    command = "home set"
    refuses = (NotFound, Corrupt, Unsupported)
    makes_workspace = True


@dataclass(frozen=True)
class CheckHomePlan:
    """Where something small will be written, read, listed, copied and deleted again."""

    home: str


@dataclass(frozen=True)
class CheckHome(Change[HomeCheck, CheckHomePlan]):
    """Try out whether savepoints can be kept at a place: something small is written there, read, listed, copied within it and deleted. The
    answer says what does not work, and whether the storage copies by itself."""

    home: str = argument(
        "A folder: s3://bucket/folder, hdfs://host:8020/folder, or a path outside of the workspace.", metavar="URL", reads=Reads.PLACE
    )

    call, topic = "check_home", "system"
    role = Role.OPERATOR
    http = Http("POST", "/homes/check")
    command = "home check"
    refuses = (Unsupported,)
