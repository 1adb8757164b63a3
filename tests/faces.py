"""A small workspace as data: jobs, savepoints, experiments and operations. `tests.questions` finds it, `tests.changes` answers changes.

Nothing here changes by itself. A test that needs a refusal, or what is there afterwards, says so: with `answers`, `refuses` and `plans_as`,
with `began`, `ended`, `saved` and `under_way`, or with `tests.afterwards`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pipelines.domain.edges import Edge
from pipelines.domain.experiments import Experiment
from pipelines.domain.home_leases import LeaseSeen
from pipelines.domain.ids import ExperimentId, JobName
from pipelines.domain.jobs import Event, Origin, QuerySeen, Run
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.schedules import Attempt, Schedule
from pipelines.domain.states import MOST_ROWS, Reading
from pipelines.domain.trust import Trust, Verification
from pipelines.domain.versions import Version, version
from pipelines.verbs.listing import Listed, page
from pipelines.verbs.state import ListStates
from pipelines.verbs.verb import Begun, Change, Question
from tests import changes, questions, samples
from tests.canned import CannedFace
from tests.memory import Memory
from tests.questions import LOG
from tests.samples import NOW_MS, QUERY, RETAINED, ROOT, judged

__all__ = ["LOG", "NOW_MS", "QUERY", "ROOT", "FakeFace", "judged"]
WATCHED = {"counts": QuerySeen("counts", "q-1", "parquet", "s3://lake/clicks/out", "s3://lake/clicks/checkpoint", "")}


class FakeFace(CannedFace):
    """Jobs, savepoints and experiments as dictionaries; ids count up, and are the same in each sample."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, list[Run]] = {}
        self.origins: dict[str, Origin] = {}
        self.versions: dict[str, Version] = {}
        self.attached: dict[str, Mapping[str, QuerySeen]] = {}
        """The queries of jobs that run elsewhere."""
        self.savepoints_by_id: dict[str, Savepoint] = {}
        self.verifications: dict[str, Verification] = {}
        """The newest one of each savepoint."""
        self.experiments_by_id: dict[str, Experiment] = {}
        self.now: dict[str, Operation] = {}
        """Operations as they are now."""
        self.later: dict[str, list[Callable[[], Operation]]] = {}
        """What further looks at an operation find; the last one stays."""
        self.outcomes: dict[str, Any] = {}
        """Operation -> what came of it, where that is not the operation itself."""
        self.leases: dict[str, LeaseSeen] = {}
        """Of jobs at a home."""
        self.log = LOG
        """What the driver of every run has written."""
        self.memory: Memory = Memory()
        """The state that savepoints of a job hold."""
        self.readings: dict[str, Reading] = {}
        self.committed: Sequence[int] = RETAINED
        """Batches that each job has committed, as far as they are known."""
        self.schedules: dict[str, Schedule] = {}
        """Of jobs, and (by no name) of the workspace."""
        self.attempts: dict[str, Attempt] = {}
        self.proof_attempts: dict[str, Attempt] = {}
        """What came of the newest time of a job's schedule."""
        self.happened: list[Event] = []
        """What happened before the runs that there are began, newest first."""
        self._ids = 0

    @staticmethod
    def sample() -> FakeFace:
        """A running job with two savepoints, a fork of it that failed, a stopped job, and one experiment."""
        face = FakeFace()
        args, conf = ("--out", "{output}"), {"spark.x": "1"}
        face.began("post_engagement", version("post_engagement.py", "print('a')\n", args=args, conf=conf))
        first = face.saved("post_engagement", batch=7, label="before ads")
        face.saved("post_engagement", batch=9)
        face.began("post_engagement_split", version("post_engagement.py", "print('b')\n", args=args, conf=conf), first.id)
        face.origins["post_engagement_split"] = Origin(first.id, first.job)
        face.ended(
            "post_engagement_split", RunState.FAILED, Exit("failed", 1, "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "keys", samples.NOW_MS)
        )
        face.began("post_events", version("post_events.py", "print('events')\n"))
        face.ended("post_events")
        jobs = (JobName("post_engagement"), JobName("post_engagement_split"))
        face.experiments_by_id["ex-1"] = Experiment(ExperimentId("ex-1"), "ads", first.id, jobs, samples.NOW_MS)
        return face

    @staticmethod
    def busy() -> FakeFace:
        """The sample, and more: a job watched from outside with a proved savepoint of it whose state was read, three operations.

        The export under way goes on until it is cancelled; of the two that ended, the import failed.
        """
        face = FakeFace.sample()
        face.began("clicks", version("attached.py", ""), state=RunState.WATCHED)
        face.attached["clicks"] = WATCHED
        proved = face.saved("clicks", label="watched")
        face.verified(samples.verification(proved, Trust.PROVED))
        read = face.memory.reading(proved, face.ask(ListStates(proved.id))[0], MOST_ROWS)
        face.readings[read.id] = read
        done = samples.begun("op-verified", "prove", "clicks", proved.id)
        face.under_way(replace(done, state=OperationState.DONE, ended_ms=samples.NOW_MS, result=Trust.PROVED, can_cancel=False))
        face.under_way(samples.failed(samples.begun("op-failed", "import", "", "s3://lake/archive/again"), samples.here_already(proved.id)))
        exporting = samples.begun("op-exporting", "export", "clicks", proved.id)
        face.under_way(samples.further(exporting, 500_000))
        return face

    def begin_again(self, *, busy: bool = False) -> None:
        """Makes this the sample again, whatever was done to it: for a server that outlasts one test."""
        vars(self).clear()
        vars(self).update(vars(FakeFace.busy() if busy else FakeFace.sample()))

    # data
    def began(self, job: str, made: Version, from_savepoint: str = "", state: RunState = RunState.RUNNING) -> Run:
        """A run of the job, its newest."""
        self.versions[made.id] = made
        run = samples.run(self.new_id("r"), job, made.id, state, from_savepoint)
        self.runs.setdefault(job, []).append(run)
        return run

    def went_on(self, job: str, edge: Edge) -> None:
        """What is known of the state that its newest run began with."""
        self.runs[job][-1] = replace(self.runs[job][-1], edge=edge)

    def ended(self, job: str, state: RunState = RunState.STOPPED, how: Exit | None = None) -> None:
        """Its newest run has ended."""
        how = how or Exit("stopped", 0, "", "", samples.NOW_MS)
        self.runs[job][-1] = replace(self.runs[job][-1], state=state, ended_ms=samples.NOW_MS, exit=how)

    def saved(self, job: str, batch: int | None = None, label: str = "", reason: Reason = Reason.MANUAL, to: str = "") -> Savepoint:
        """A savepoint of the job, at its newest batch if none is named."""
        run, at = self.runs[job][-1], self.committed[-1] if batch is None else batch
        taken = samples.savepoint(self.new_id("sp"), job, version=run.version, run=run.id, batch=at, reason=reason, label=label, to=to)
        self.savepoints_by_id[taken.id] = taken
        return taken

    def verified(self, verification: Verification) -> None:
        """The newest verification of its savepoint."""
        s = replace(self.savepoints_by_id[verification.savepoint], verified_ms=samples.NOW_MS, damaged_files=len(verification.damages))
        self.savepoints_by_id[s.id] = (
            replace(s, trust=verification.reached, levels=verification.levels) if verification.reached else replace(s, levels={})
        )
        self.verifications[s.id] = verification

    def under_way(self, operation: Operation, *later: Operation, outcome: Any = None) -> Operation:
        """An operation, and what each further look at it finds."""
        self.now.pop(operation.id, None)
        self.now[operation.id] = operation
        self.later[operation.id] = [partial(replace, later_operation) for later_operation in later]
        self.outcomes[operation.id] = outcome
        return operation

    def then(self, operation: Operation, trace: Callable[[], object]) -> Operation:
        """The operation under way leaves a trace when it has ended."""
        ends = self.later[operation.id].pop()

        def ended() -> Operation:
            trace()
            return ends()

        self.later[operation.id].append(ended)
        return operation

    def new_id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}-{self._ids:012d}"

    # answers that no test gave
    def otherwise_asked(self, question: Question[Any]) -> Any:
        answer = questions.ANSWERS[type(question)](self, question)
        return page(question, answer) if isinstance(question, Listed) else answer

    def otherwise_planned(self, change: Change[Any, Any]) -> Any:
        return changes.PLANS[type(change)](self, change)

    def otherwise_begun(self, change: Change[Any, Any]) -> Any:
        return changes.ANSWERS[type(change)](self, change)

    def begin(self, change: Change[Any, Any]) -> Begun[Any]:
        begun = super().begin(change)
        if begun.operation is not None and begun.operation.id not in self.now:
            self.under_way(begun.operation)
        return begun
