"""`resources`: how much memory and how many processors a job may take."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.bounds import MOST
from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job
from pipelines.domain.resources import Means, Resources
from pipelines.verbs.forget import JOB
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Change, Http, named, option

MEMORY = (
    "Most memory of its driver with all that it starts on this machine: 2g, 1536m; none for no limit. Spark's heap is made to fit; a "
    "driver that takes more is ended, which is a failure."
)
CPUS = "Processors that its driver may keep busy with all that it starts on this machine, such as 1.5; 0 for no limit."


@dataclass(frozen=True, kw_only=True)
class Taking:
    """What a job that begins may take; None is what it, or its parent, may take already."""

    memory_bytes: int | None = option(MEMORY, None, flag="--memory", metavar="SIZE", reads=Reads.SIZE, least=0, most=MOST)
    cpus: float | None = option(CPUS, None, flag="--cpus")


@dataclass(frozen=True)
class ResourcesPlan:
    """What a job may take as it is, as it will be, and what will hold it to that."""

    job: JobName
    before: Resources
    after: Resources
    means: Means | None
    """None where it has no limit."""


@dataclass(frozen=True)
class SetResources(Change[Job, ResourcesPlan], Taking):
    """Set how much memory and how many processors a job may take, from its next start on (a restart, too). What is not given stays.
    Forks of the job begin with its limits."""

    job: str = named(JOB)

    call, topic = "set_resources", "jobs"
    role = Role.OPERATOR
    http = Http("PATCH", "/jobs/{job}/resources")
    command, shell = "resources", "Prints the job's name."
    refuses = (NotFound, Conflict)
    prints = "{0.name}"
