"""What every face (pages, REST, command line) may ask of a workspace: one protocol, in this process or over HTTP.

Every method raises `TidemarkError`; which group is said where it is not plain. Methods that change things return when the change
is recorded; the supervisor carries it out. `dry_run` returns the plan that would run and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pipelines.domain.about import About
from pipelines.domain.decisions import DropPlan, PromotePlan, UndropPlan
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.differences import Differences
from pipelines.domain.disposals import Disposal
from pipelines.domain.events import EVERY, EventFilter
from pipelines.domain.experiments import BatchRow, Comparison, Experiment, Health, Series, Tree
from pipelines.domain.intervals import Interval
from pipelines.domain.jobs import Event, JobDetail, JobSummary, LogChunk, Run
from pipelines.domain.operations import Operation
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import QueryPlan
from pipelines.domain.requests import (
    AnnotateRequest,
    AttachRequest,
    CompareRequest,
    DropRequest,
    ExperimentRequest,
    ExportRequest,
    ForkRequest,
    ImportRequest,
    PromoteRequest,
    ResumeRequest,
    RunRequest,
    StopRequest,
    TakeRequest,
    UndropRequest,
)
from pipelines.domain.savepoints import DisposePlan, ExportPlan, Manifest, RestorePlan, RetainedBatch, Savepoint, TakePlan
from pipelines.domain.space import Space
from pipelines.domain.states import StateQuery, StateRequest, StateRows, StateTable
from pipelines.domain.trust import Trust, Verification
from pipelines.domain.versions import Version


class Face(Protocol):
    """A workspace as its users see it."""

    def acting(self, actor: str) -> Face:
        """The same workspace; events of what is done through this one name `actor`."""
        ...

    # jobs
    def jobs(self) -> Sequence[JobSummary]:
        """All jobs, worst first (failed, then lagging, then the others by name)."""
        ...

    def health(self, *, span_ms: int = 900_000) -> Health:
        """Key figures now, and their lines over the last `span_ms`."""
        ...

    def job(self, job: str) -> JobDetail: ...

    def run(self, request: RunRequest) -> Run:
        """Begin a new job. AlreadyExists if the name is taken, Invalid for code with a syntax error."""
        ...

    def stop(self, job: str, request: StopRequest) -> Operation:
        """Ask the job's run to end. Conflict if none is live. Follow the operation; its result is the savepoint's id."""
        ...

    def resume(self, job: str, request: ResumeRequest) -> Run | RestorePlan:
        """Begin a new run of a job that is not running (Conflict if it is). RestorePlan for a dry run from a savepoint."""
        ...

    def attach(self, request: AttachRequest) -> Run:
        """Watch a job that runs elsewhere. AlreadyExists if the name is taken, NotFound where there is no checkpoint."""
        ...

    def forget(self, job: str) -> None:
        """Remove a job that is not running, with its runs, checkpoints and output; its savepoints stay.

        Conflict while it runs, and while a savepoint or a fork that has not begun needs its output (a file sink's history).
        """
        ...

    def logs(self, job: str, *, run: str = "", offset: int = -20_000, limit: int = 200_000) -> LogChunk:
        """A piece of the driver log (newest run unless named); a negative offset counts from the end."""
        ...

    def retained(self, job: str) -> Sequence[RetainedBatch]:
        """Committed batches of the job's live checkpoint that a savepoint can still be taken of, oldest first."""
        ...

    def batches(self, job: str, *, limit: int = 100) -> Sequence[BatchRow]: ...

    def series(self, job: str, *, from_ms: int, to_ms: int, points: int = 600) -> Series: ...

    def event_series(self, job: str, *, points: int = 600) -> Series:
        """The same over event time: `t` is each batch's greatest event time."""
        ...

    def operators(self, job: str) -> Sequence[QueryOperators]:
        """Of each query its sources, stateful operators and sink, at its newest batch."""
        ...

    def plan(self, job: str, *, query: str = "") -> Sequence[QueryPlan]:
        """Spark's plan of each query (or the one named) with its metrics, of one of the last batches; empty where none is known.

        NotFound (`plan.not_found`) for a named query without one.
        """
        ...

    def events(self, job: str = "", *, limit: int = 200, wanted: EventFilter = EVERY) -> Sequence[Event]:
        """What happened, newest first; `pipelines.domain.events.EventFilter` says what fits, and where to go on from.

        Invalid (`events.cursor`) for a `before` that is no cursor.
        """
        ...

    def operation(self, operation: str) -> Operation: ...

    def operations(self, *, running: bool = False) -> Sequence[Operation]:
        """Newest first; with `running` only those under way."""
        ...

    def cancel(self, operation: str) -> Operation:
        """Ask an operation to end: what it made is removed. Conflict (`operation.ended`, `operation.not_cancellable`)."""
        ...

    # versions
    def version(self, version: str) -> Version: ...

    def tree(self) -> Tree: ...

    def differences(self, a: str, b: str) -> Differences:
        """What differs between two points: a savepoint, a job (its present checkpoint), a run or a version. NotFound `point.not_found`."""
        ...

    # savepoints
    def take(self, job: str, request: TakeRequest) -> Savepoint | TakePlan: ...

    def savepoints(self, job: str = "") -> Sequence[Savepoint]:
        """Newest first."""
        ...

    def savepoint(self, savepoint: str) -> Savepoint:
        """By id, by a unique beginning of it, or by its path."""
        ...

    def manifest(self, savepoint: str) -> Manifest: ...

    def annotate(self, savepoint: str, request: AnnotateRequest) -> Savepoint:
        """Label, note, best before: as often as one likes, beside what was taken. Invalid for what is too long or no date."""
        ...

    def verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Verification:
        """Check now, and answer when it is done."""
        ...

    def start_verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Operation:
        """The same as an operation, with progress; `verification` has the outcome when it is done."""
        ...

    def verification(self, savepoint: str) -> Verification | None:
        """The newest verification, None before the first."""
        ...

    def diagnose(self, subject: str) -> Sequence[Diagnosis]:
        """The doctor on a job's live checkpoint, a savepoint, or the checkpoint at a path or URL: one diagnosis a query."""
        ...

    def states(self, savepoint: str) -> Sequence[StateTable]:
        """The tables of its state, with what was read of them so far. No Spark is started."""
        ...

    def read_state(self, savepoint: str, request: StateRequest) -> Operation:
        """Read one table with Spark and keep its rows; the operation's result is the reading's id. What was read before is there at once.

        NotFound (`state.not_found`), Invalid (`state.several`) where more than one could be meant.
        """
        ...

    def query_state(self, savepoint: str, query: StateQuery) -> StateRows:
        """Rows of what was read. NotFound (`state.not_read`) before, Invalid for SQL that is wrong or wants more than the state."""
        ...

    def space(self, job: str = "") -> Space:
        """What the savepoints take on disk, each and together."""
        ...

    def export(self, savepoint: str, request: ExportRequest) -> Operation | ExportPlan: ...

    def import_savepoint(self, request: ImportRequest) -> Operation:
        """AlreadyExists where a savepoint of that id is here; its id is the operation's result."""
        ...

    def dispose(self, savepoint: str, *, dry_run: bool = False) -> DisposePlan:
        """Conflict while a fork in the making needs it."""
        ...

    def dispose_many(self, savepoints: Sequence[str], *, dry_run: bool = False) -> Disposal:
        """One outcome each: a refusal (not found, needed by a fork in the making) is an answer, and keeps no other."""
        ...

    def fork(self, savepoint: str, request: ForkRequest) -> Run | RestorePlan: ...

    # experiments
    def experiments(self) -> Sequence[Experiment]: ...

    def experiment(self, experiment: str) -> Experiment: ...

    def start_experiment(self, request: ExperimentRequest) -> Experiment: ...

    def compare(self, request: CompareRequest) -> Comparison: ...

    def intervals(self, a: str, b: str, query: str = "") -> Sequence[Interval]:
        """How far B's metrics are from A's on the same events, each with its 95 % interval; of the first query that both have."""
        ...

    def promote(self, job: str, request: PromoteRequest) -> Operation | PromotePlan:
        """The parent of a variant goes on with its version. Conflict (`decision.made`, `promote.…`, `job.attached`)."""
        ...

    def drop(self, job: str, request: DropRequest) -> Operation | DropPlan:
        """A variant is ended and marked as dropped; its savepoints stay. Conflict (`decision.made`, `decision.no_fork`)."""
        ...

    def undrop(self, job: str, request: UndropRequest) -> UndropPlan:
        """A dropped variant's mark goes, and it is resumed where the drop ended it. Conflict (`decision.not_dropped`)."""
        ...

    # the workspace itself
    def start_example(self) -> Sequence[Run]:
        """Begin the event generator `post_events` and the job `post_engagement`; those that already run are left alone."""
        ...

    def about(self) -> About:
        """Runtimes, storage and server, as they are now."""
        ...

    def rebuild_catalog(self) -> dict[str, int]:
        """Make the index anew from the workspace's files: rows by table."""
        ...
