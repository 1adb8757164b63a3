"""What restoring a savepoint will do: the plan of a fork and of a resume."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.conversions import ConversionPlan
from pipelines.domain.errors import Refusal
from pipelines.domain.ids import JobName, QueryName, RunId, SavepointId, VersionId
from pipelines.domain.lockstep import LockStepPlan
from pipelines.domain.migrations import MigrationPlan
from pipelines.domain.moved_sources import MovedSource
from pipelines.domain.paces import Pace
from pipelines.domain.probations import Probation
from pipelines.domain.resources import ALL, Means, Resources
from pipelines.domain.restarts import FailedBatch
from pipelines.domain.rewrites import RewritePlan
from pipelines.domain.verdicts import Verdict

SHARED = "shared"
"""The action for a sink where code of its own writes, and nothing says that a fork's does so elsewhere than its parent's."""


@dataclass(frozen=True)
class SinkPlan:
    """What happens with a query's sink in a fork or resume: `action` is continue, fresh, own, cut, swap, shared, none or refuse."""

    query: QueryName
    sink: str
    path: str
    action: str
    message: str


@dataclass(frozen=True)
class RestorePlan:
    """What restoring a savepoint into a new checkpoint will do."""

    savepoint: SavepointId
    """Empty for going back to a retained batch: its savepoint is taken when that is done."""
    job: JobName
    keeps_query_id: bool
    checkpoints: str
    files: int
    bytes: int
    new_bytes: int
    how: str
    sinks: tuple[SinkPlan, ...] = ()
    warnings: tuple[str, ...] = ()
    run: RunId | None = None
    """The run that begins on it."""
    server_bytes: int = 0
    """Of the new bytes those that the server copies or writes."""
    requests: int = 0
    """About how many an object store is sent where the checkpoints will lie there; 0 for a disk."""
    pace: Pace | None = None
    """How long the copying of a fork takes; None where nothing of its parent was copied to that place before."""
    version: VersionId | None = None
    """What that run executes."""
    saves: tuple[str, ...] = ()
    """Labels of the savepoints that are taken first, so that nothing is lost."""
    refusal: Refusal | None = None
    """What beginning it raises: a sink that could not go on with its rows, code that is known not to start."""
    builds: bool = False
    """Whether an environment of the version's requirements is made first."""
    rewrite: RewritePlan | None = None
    """What becomes of the copy's state before the run begins; None where that stays as it is."""
    conversion: ConversionPlan | None = None
    """Which store the copy's state is moved to, before `rewrite`; None where it stays in the one that it has."""
    migration: MigrationPlan | None = None
    """How the state of its aggregations is rewritten for changed code, before `conversion`; None where that stays as it is."""
    verdict: Verdict | None = None
    """What becomes of the state under that version; None where nobody has checked it."""
    judged: SavepointId | None = None
    """The savepoint against which that version is checked: the one that is restored; of a job's present state its newest that stands for
    it, None where there is none."""
    master: str = ""
    """On which Spark that run is."""
    master_before: str = ""
    """On which the savepoint's job was."""
    spark: str = ""
    """Version of the Spark of that run where it is another release than the state's; it is rehearsed on a copy first. Empty else."""
    spark_before: str = ""
    """Version of the Spark that wrote the state, where `spark` is another."""
    resources: Resources = ALL
    """What its driver may take of this machine."""
    means: Means | None = None
    """What holds it to that; None where it has no limit."""
    moved: tuple[MovedSource, ...] = ()
    """Sources that go on from elsewhere than the savepoint says, with the state as it is."""
    passed: FailedBatch | None = None
    """The batch that is left out: what it would have read counts as read, its state stays as it is."""
    lock_step: LockStepPlan | None = None
    """Whose offsets its batches will have; None for a run that plans its batches itself."""
    probation: Probation | None = None
    """How the run is watched, and the way back that it has; None for a run that is not."""

    @property
    def shared(self) -> tuple[str, ...]:
        """Of each sink that its parent may write to as well."""
        return tuple(f"{sink.query} may write where its parent writes. {sink.message}" for sink in self.sinks if sink.action == SHARED)

    @property
    def further_warnings(self) -> tuple[str, ...]:
        """The warnings, without those that a sink says already."""
        messages = {f"{sink.query}: {sink.message}" for sink in self.sinks} | {sink.message for sink in self.sinks}
        return tuple(warning for warning in self.warnings if warning not in messages)
