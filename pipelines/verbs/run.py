"""`run`: a script becomes a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain import masters
from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.resources import ALL, Means, Resources
from pipelines.domain.restores import RestorePlan
from pipelines.domain.spark_metrics import PRESETS
from pipelines.domain.texts import CODE, NAME, VALUE
from pipelines.verbs.fork import FORKING, HOME
from pipelines.verbs.migrating import CHECK
from pipelines.verbs.reads import Reads
from pipelines.verbs.resources import Taking
from pipelines.verbs.revision import AGAIN, FILES, JAVA, NEW_QUERY, OUTSIDE, Revision
from pipelines.verbs.verb import Change, Http, Kind, Shell, Works, argument, option


@dataclass(frozen=True)
class RunPlan:
    """What beginning a job will do."""

    job: JobName
    run: RunId
    version: VersionId
    script: str
    args: tuple[str, ...]
    conf: Mapping[str, str]
    master: str
    python: str
    output: str
    """What `{output}` in an argument becomes."""
    restore: RestorePlan | None = None
    """Of a job that begins on a savepoint's state."""
    files: tuple[str, ...] = ()
    """Modules and files that its version has beside the script."""
    builds: bool = False
    """Whether an environment of its requirements is made first."""
    java_home: str = ""
    """JAVA_HOME that was given for it."""
    resources: Resources = ALL
    """What its driver may take of this machine."""
    means: Means | None = None
    """What holds it to that; None where it has no limit."""
    place: str = ""
    """The folder of its own at a home where its checkpoint and its output lie; empty for the workspace."""
    remarks: tuple[str, ...] = ()
    """What to know of a master elsewhere: what it must share with this machine, what it costs."""


@dataclass(frozen=True, kw_only=True)
class RunScript(Change[Run, RunPlan], Taking, Revision):
    """Run a PySpark script or a SQL file as a new job. With a savepoint's state it is a fork with that script. `{output}` in an argument
    becomes the job's own output directory, `{job}` its name."""

    script: str = argument("A PySpark script, a SQL file (.sql), or the folder of a project.", reads=Reads.SCRIPT, text=NAME)
    code: str = option("The script's text.", shell=Shell.ABSENT, text=CODE)
    files: Mapping[str, str | None] = option(FILES, factory=dict, flag="--file", metavar="[NAME=]PATH", reads=Reads.FILES)
    outside: Mapping[str, str] = option(OUTSIDE, factory=dict, shell=Shell.ABSENT, text=VALUE)
    args: tuple[str, ...] = argument(
        "Arguments of the script; {output} becomes the job's own output directory, {job} its name.", (), metavar="-- ARGS", text=VALUE
    )
    name: str = option("Name of the job; the script's file name if not given.")
    conf: Mapping[str, str] = option(f"A Spark conf; {AGAIN}.", factory=dict, metavar="KEY=VALUE", reads=Reads.PAIRS)
    spark_metrics: tuple[str, ...] = option(
        f"Where Spark itself sends its metrics: {PRESETS}; {AGAIN}. It becomes confs of the job.", (), metavar="SINK"
    )  # fmt: skip
    master: str = option("Spark master that the job runs on.", masters.DEFAULT)
    python: str = option("Interpreter whose PySpark runs it; Tidemark's own if not given.", "", flag="--runtime", metavar="PYTHON")
    java_home: str = option(f"{JAVA}.", "", metavar="DIR")
    source: str = option("Where the script came from.", "", shell=Shell.ABSENT)
    from_savepoint: str = option("Begin on the state of this savepoint.", "", flag="--from", metavar="SAVEPOINT", reads=Reads.SAVEPOINT)
    new_queries: tuple[str, ...] = option(NEW_QUERY, (), flag="--new-query", metavar="QUERY")
    home: str = option(HOME, "", metavar="URL")
    check: bool = option(CHECK, True, flag="--check/--no-check")

    call, topic = "run", "jobs"
    role = Role.AUTHOR
    http = Http("POST", "/jobs", 201)
    command, shell = "run", "Prints the job's name and the run's id."
    refuses = (NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)
    kinds = {"fork": FORKING, "run": Kind("Beginning", "Begun", makes=True, about="{job}")}
    prints = "{0.job} {0.id}"
    makes_workspace = True

    def warns(self, plan: RunPlan) -> Sequence[str]:
        return plan.restore.shared if plan.restore is not None else ()

    def works_as(self, plan: RunPlan) -> Works | None:
        if plan.restore is not None:
            return Works("fork", plan.job, plan.restore.savepoint)
        return Works("run", plan.job) if plan.builds else None

    def result(self, answer: Run) -> str:
        return answer.job
