"""`fork`: a new job from a savepoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.access import Role
from pipelines.domain.conversions import StateStore
from pipelines.domain.errors import AlreadyExists, Conflict, Corrupt, Incompatible, NotFound, Unavailable, Unsupported
from pipelines.domain.jobs import Run
from pipelines.domain.restores import RestorePlan
from pipelines.domain.rewrites import MOST_PARTITIONS
from pipelines.verbs.migrating import Migrating
from pipelines.verbs.reads import Reads
from pipelines.verbs.resources import Taking
from pipelines.verbs.revision import FORCE, NEW_QUERY, Revision
from pipelines.verbs.verb import Change, Http, Kind, Works, named, option

FORKING = Kind("Forking", "Forked", makes=True, about="{subject} as {job}")
PARTITIONS = "Give its state this many partitions: Spark rewrites it on the new checkpoint before the job begins. RocksDB only."
STORE = "Move its state to this store before the job begins, from the HDFS-backed one. With --partitions it is rescaled there, too."
SAVEPOINT = "Id of a savepoint, a unique beginning of it, or its path."
OFFSETS = (
    "Have a source go on from elsewhere, with the state as it is: at latest, earliest, a time (2027-01-15T08:00, -10m), or of all but "
    'files at the offset as JSON ({"snapshot_id":17}, {"version":17}). Files go by their last change. May be given again.'
)
LOCK_STEP = (
    "Follow the parent in lock-step: each batch has the very offsets of the parent's batch of the same number, so that each difference is "
    "the code's."
)
HOME = (
    "Keep its checkpoint, its output and its savepoints at this place: s3://bucket/folder, hdfs://host:8020/folder, or a folder of another "
    "disk (/mnt/nfs/jobs). In the workspace if not given."
)
NOW = "now"
UNTIL = (
    "What if: run in lock-step, at full speed, what the parent read since the savepoint, and end where another savepoint of it was taken, "
    "or where it stands (now)."
)
UNTIL_TIME = "Like --until, up to the parent's newest batch at or before: 2027-01-15T08:00, 08:00:30 (today) or -10m."


@dataclass(frozen=True, kw_only=True)
class Variant(Migrating, Taking, Revision):
    """A job to begin from a savepoint. `sinks` says per query (`*`: every other) whether a file sink is to `continue` the parent's output
    (what is not said does) or to begin `fresh`."""

    name: str = option("Name of the new job.")
    sinks: Mapping[str, str] = option(
        "Whether a file sink's output holds the parent's history too (continue, as if not given) or only what the fork writes (fresh); "
        "for all queries, or for one. May be given again.",
        factory=dict,
        flag="--sink",
        metavar="[QUERY=]fresh|continue",
        reads=Reads.SINKS,
    )
    partitions: int | None = option(PARTITIONS, None, least=1, most=MOST_PARTITIONS)
    store: StateStore | None = option(STORE, None)
    offsets: Mapping[str, str] = option(OFFSETS, factory=dict, flag="--offsets", metavar="[QUERY.]SOURCE=POSITION", reads=Reads.PAIRS)
    new_queries: tuple[str, ...] = option(NEW_QUERY, (), flag="--new-query", metavar="QUERY")
    force: bool = option(FORCE, False, flag="--force")
    lock_step: bool = option(LOCK_STEP, False, flag="--lock-step")
    until: str = option(UNTIL, "", metavar="SAVEPOINT|now")
    home: str = option(HOME, "", metavar="URL")
    until_ms: int | None = option(UNTIL_TIME, None, flag="--until-time", metavar="TIME", reads=Reads.MOMENT)


@dataclass(frozen=True)
class Fork(Change[Run, RestorePlan], Variant):
    """Begin a new job from a savepoint. It has its own checkpoint, query id and output; what is not given stays as it was taken."""

    savepoint: str = named(SAVEPOINT, reads=Reads.SAVEPOINT)

    call, topic = "fork", "savepoints"
    role = Role.AUTHOR
    http = Http("POST", "/savepoints/{savepoint}/fork", 201)
    command, shell = "fork", "Prints its name and the run's id. Confs given are added to those it had."
    refuses = (NotFound, AlreadyExists, Conflict, Incompatible, Corrupt, Unsupported, Unavailable)
    kinds = {"fork": FORKING}
    prints = "{0.job} {0.id}"

    def warns(self, plan: RestorePlan) -> Sequence[str]:
        """Sinks that its parent may write to as well; given confs, what the plan warns of: with state Spark passes over some of them."""
        return (*plan.shared, *(plan.further_warnings if self.conf else ()))

    def works_as(self, plan: RestorePlan) -> Works:
        return Works("fork", plan.job, plan.savepoint)

    def result(self, answer: Run) -> str:
        return answer.job
