"""What a driver is told of the run that it executes (`run.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.domain.bounds import Count, Format, Moment, Took
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.lockstep import Lead
from pipelines.domain.resources import ALL, Resources

SPEC_FILE = "run.json"
SPEC_FORMAT = 1
NOTED_TABLES = "tables.json"
"""In a job's warehouse: its managed tables of files."""
ANY_TABLE = "*"
"""In `RunSpec.own_tables`: whatever folder its code says."""


@dataclass(frozen=True)
class RunSpec:
    """All a driver is told. Paths are absolute and local to the driver's machine, or URLs that its Spark can read."""

    format: Format
    run: RunId
    job: JobName
    version: VersionId
    script: str
    """Path of the frozen script."""
    args: tuple[str, ...]
    """Arguments with `{output}` already substituted."""
    conf: Mapping[str, str]
    master: str
    checkpoints: str
    """Directory in which every query gets `<query>/` as its checkpoint location."""
    output: str
    """The job's own output directory."""
    sink_logs: Mapping[str, str] = field(default_factory=dict)
    """Query -> directory with the `_spark_metadata` entries to carry into the query's file sink before it starts (a fork or a
    resume from a savepoint; gone once the sink has them)."""
    taken_paths: tuple[str, ...] = ()
    """Directories that other jobs' file sinks write to: a query that starts on one of them is refused."""
    created_ms: Moment = 0
    """When the run was asked for."""
    from_savepoint: str = ""
    """The savepoint whose state the run begins with; empty where it begins anew or goes on with its checkpoint."""
    expected: tuple[str, ...] = ()
    """Queries whose state the run continues (a fork, a resume, an upgrade): one that starts under another name would silently
    begin anew, and is refused unless it is in `new_queries`. Empty: nothing is expected, any query may start."""
    new_queries: tuple[str, ...] = ()
    rehearsal: str = ""
    """Directory of a rehearsal: every sink is replaced by one that writes below it, sources leave their files alone, and each
    query ends after its first batch. Empty for a run that is meant."""
    rehearsal_patience_s: Took = 60.0
    """How long a rehearsal waits for a first batch."""
    rehearsal_idle: tuple[str, ...] = ()
    """Queries that have nothing to run a batch with, and are not waited for."""
    code: str = ""
    """Directory that holds the script and the modules and files it needs; empty for a script that is alone."""
    outside: Mapping[str, str] = field(default_factory=dict)
    """Path -> SHA-256 of files that must be what they were."""
    locations: Mapping[str, str] = field(default_factory=dict)
    """Query -> the location (`QueryStarted.location`) that it had in runs before, so that it keeps its name whenever it starts."""
    warehouse: str = ""
    """The job's warehouse (`tables/`, `metastore/`, `tables.json`): where tables go that name no place. Empty: Spark's own."""
    attempt: Count = 0
    """Which restart in a row it is; 0 for a run that somebody began."""
    is_scheduled: bool = False
    """Whether the job's schedule began it, and nobody."""
    lead: Lead | None = None
    """Whose offsets its batches have; None for a run that plans its batches itself."""
    taken_topics: tuple[str, ...] = ()
    """Kafka topics that the parent of a fork writes to: a query that would write to one writes to a topic of its own. `*`: to any."""
    own_tables: Mapping[str, str] = field(default_factory=dict)
    """Query of a fork -> the folder of the Delta table that it must not write to, or `ANY_TABLE` where it is given one of its own
    whatever its code says: its parent's, or that of the parent of that. Of an Iceberg table its folder: there it writes to a branch.
    Of any other table its name or URL."""
    is_new_fork: bool = False
    """Whether it is the first run of a fork: topics of its own have no rows yet."""
    resources: Resources = ALL
    """What its driver may take of this machine."""
    mark: str = ""
    """A file without which the disk of its checkpoints counts as not mounted, and nothing begins; empty where these are in the workspace,
    or in another storage."""
