"""`attach`: a job that runs elsewhere is watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain import masters
from pipelines.domain.access import Role
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, NotFound, Unavailable, Unsupported
from pipelines.domain.ids import JobName, QueryName, VersionId
from pipelines.domain.jobs import Run
from pipelines.domain.texts import PLACE, VALUE
from pipelines.verbs.reads import Reads
from pipelines.verbs.revision import AGAIN, JAVA, Revision
from pipelines.verbs.verb import Change, Http, Shell, argument, option


@dataclass(frozen=True)
class AttachPlan:
    """What attaching a job will do."""

    job: JobName
    version: VersionId
    checkpoints: Mapping[QueryName, str]
    """Path or URL of each query's."""


@dataclass(frozen=True, kw_only=True)
class Attach(Change[Run, AttachPlan], Revision):
    """Watch a job that runs elsewhere. It is known by the checkpoint locations of its queries; it does not notice, and savepoints and forks
    of it work as ever. The rest is what a checkpoint does not say: the sink of its queries, and the code to fork it with."""

    name: str = argument("Name of the job here.")
    checkpoints: Mapping[str, str] = option(
        "A query with its checkpoint, for a job of several; may be given again.",
        flag="--checkpoint",
        metavar="QUERY=URL",
        reads=Reads.PAIRS,
        text=PLACE,
    )
    sink: str = option("Format that its queries write: parquet, foreachBatch, …", "", metavar="FORMAT")
    sink_path: str = option("Directory that a file sink writes to.", "", metavar="PATH", reads=Reads.PLACE)
    script: str = option("File name of its script.", "", shell=Shell.ABSENT)
    code: str = option("Its script, to fork it with.", "", metavar="FILE", reads=Reads.FILE)
    args: tuple[str, ...] = option(f"An argument of the script; {AGAIN}.", (), flag="--arg", metavar="ARG", text=VALUE)
    conf: Mapping[str, str] = option(f"A Spark conf; {AGAIN}.", factory=dict, metavar="KEY=VALUE", reads=Reads.PAIRS)
    master: str = option("Spark master that a fork of it runs on.", masters.DEFAULT)
    python: str = option("Interpreter whose PySpark a fork of it runs on.", "", flag="--runtime", metavar="PYTHON")
    java_home: str = option(f"{JAVA}.", "", metavar="DIR")
    spark_version: str = option("Spark version that it runs on; not known if not given.", "", metavar="VERSION")

    call, topic = "attach", "jobs"
    role = Role.AUTHOR
    http = Http("POST", "/jobs/attach", 201)
    command, shell = "attach", "Prints its name and a run's id."
    refuses = (NotFound, AlreadyExists, Conflict, Corrupt, Unsupported, Unavailable)
    prints = "{0.job} {0.id}"
    makes_workspace = True
