"""A workspace in memory: every method of `Face` with plain answers, for tests of the pages, REST and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any, TypeVar

from pipelines.domain.about import About
from pipelines.domain.annotations import Annotation, annotated, changed, first
from pipelines.domain.decisions import Choice, Decision, Does, DropPlan, PromotePlan, Step, UndropPlan
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.differences import Differences, differences
from pipelines.domain.disposals import Disposal, DisposeOutcome, DisposePlan, disposal
from pipelines.domain.errors import AlreadyExists, Conflict, Invalid, NotFound, TidemarkError, refusal
from pipelines.domain.events import COMMAND, PAGE
from pipelines.domain.experiments import BatchRow, Comparison, Experiment, Health, Lane, Mark, OutputOverTime, Parting, Series, Tree
from pipelines.domain.ids import ExperimentId, JobName, OperationId, QueryName, RunId, SavepointId, VersionId, job_name
from pipelines.domain.intervals import Interval
from pipelines.domain.jobs import Event, Job, JobDetail, JobSummary, LogChunk, Origin, QuerySeen, Run
from pipelines.domain.operations import Operation, OperationState, sound
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import QueryPlan
from pipelines.domain.points import Point, PointKind
from pipelines.domain.restores import RestorePlan
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.savepoints import ExportPlan, Manifest, Reason, RetainedBatch, Savepoint, TakePlan
from pipelines.domain.space import Space
from pipelines.domain.states import MOST_ROWS, Reading, StateRows, StateTable, chosen, reading_id
from pipelines.domain.trust import Trust, Verification
from pipelines.domain.versions import Version, version
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.attach import Attach, AttachPlan
from pipelines.verbs.diagnose import Diagnose, DiagnosePlan
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiment import ExperimentPlan, StartExperiment
from pipelines.verbs.experiments import Compare, Diff, ListExperiments, ShowExperiment, ShowIntervals, ShowTree, ShowVersion
from pipelines.verbs.export import Export
from pipelines.verbs.forget import Forget, ForgetPlan
from pipelines.verbs.fork import Fork
from pipelines.verbs.import_ import Import, ImportPlan
from pipelines.verbs.jobs import (
    ListBatches,
    ListJobs,
    ListOperators,
    ListPlans,
    ListRetained,
    ReadLog,
    ShowEventSeries,
    ShowJob,
    ShowSeries,
)
from pipelines.verbs.operations import CancelOperation, ListOperations, ReadAnswer, ShowOperation
from pipelines.verbs.promote import Promote
from pipelines.verbs.rename_query import RenamePlan, RenameQuery
from pipelines.verbs.resume import Resume
from pipelines.verbs.revision import Revision
from pipelines.verbs.run import RunPlan, RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ReadVerification, ShowSavepoint
from pipelines.verbs.state import ListStates, QueryState, ReadState, ReadStatePlan
from pipelines.verbs.stop import Stop, StopPlan
from pipelines.verbs.system import (
    ExamplePlan,
    ListEvents,
    RebuildCatalog,
    RebuildPlan,
    ShowAbout,
    ShowHealth,
    ShowSpace,
    StartExample,
)
from pipelines.verbs.take import Take
from pipelines.verbs.verb import Begun, Change, Question
from pipelines.verbs.verify import Verify, VerifyPlan
from pipelines.words.findings import of_job
from tests import samples
from tests.canned import CannedFace
from tests.memory import Memory
from tests.samples import NOW_MS, QUERY, RETAINED, ROOT

__all__ = ["LOG", "NOW_MS", "QUERY", "ROOT", "FakeFace"]
T = TypeVar("T")
LOG = "line one\nline two\nline three\n"
KEPT = 100
"""Batches that Spark keeps of each job, at most."""


class FakeFace(CannedFace):
    """Jobs, savepoints and experiments as dictionaries; time stands still at `NOW_MS`, ids count up."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, list[Run]] = {}
        self.origins: dict[str, Origin] = {}
        self.versions: dict[str, Version] = {}
        self.savepoints_by_id: dict[str, Savepoint] = {}
        self.experiments_by_id: dict[str, Experiment] = {}
        self.operations_by_id: dict[str, Operation] = {}
        self.verifications: dict[str, Verification] = {}
        """The newest one of each savepoint."""
        self.exported: dict[str, Savepoint] = {}
        """URL -> what an import from there brings."""
        self.attached: dict[str, Attach] = {}
        self.damaged: set[str] = set()
        """Savepoints, jobs and checkpoints that a verify or a doctor finds damaged."""
        self.needed: set[str] = set()
        """Savepoints that a fork in the making needs."""
        self.memory: Memory = Memory()
        """The state that savepoints of a job hold."""
        self.readings: dict[str, Reading] = {}
        self.committed: Sequence[int] = RETAINED
        """Batches that each job has committed, as far as they are known."""
        self.happened: list[Event] = []
        """What happened before the runs that there are began, newest first."""
        self._work: dict[str, Callable[[], str]] = {}
        """What an operation under way does once it was looked at often enough; one without work goes on until it is cancelled."""
        self._ids = 0
        self._changes: dict[str, Change[Any, Any]] = {}
        """Operation -> the change that began it."""

    @staticmethod
    def sample() -> FakeFace:
        """A running job with two savepoints, a fork of it that failed, a stopped job, and one experiment."""
        face = FakeFace()
        face.run(_script("post_engagement", "print('a')\n", args=("--out", "{output}"), conf={"spark.x": "1"}))
        first = face.take(Take("post_engagement", batch=7, label="before ads"))
        face.take(Take("post_engagement", batch=9))
        face.fork(Fork(first.id, name="post_engagement_split", code="print('b')\n"))
        face._end("post_engagement_split", RunState.FAILED, Exit("failed", 1, "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "keys", NOW_MS))
        face.run(_script("post_events", "print('events')\n"))
        face._end("post_events", RunState.STOPPED, Exit("stopped", 0, "", "", NOW_MS))
        face.experiments_by_id["ex-1"] = Experiment(
            ExperimentId("ex-1"), "ads", first.id, (JobName("post_engagement"), JobName("post_engagement_split")), NOW_MS
        )
        face.begun.clear()
        return face

    @staticmethod
    def busy() -> FakeFace:
        """The sample, and more: a job watched from outside with a proved savepoint of it whose state was read, a savepoint to
        import, three operations.

        The export under way goes on until it is cancelled; of the two that ended, the import failed.
        """
        face = FakeFace.sample()
        watched = {"counts": "s3://lake/clicks/checkpoint"}
        face.attach(Attach(name="clicks", checkpoints=watched, sink="parquet", sink_path="s3://lake/clicks/out"))
        proved = face.take(Take("clicks", label="watched"))
        face._verify(proved, Trust.PROVED)
        read = face.memory.reading(proved, face.states(ListStates(proved.id))[0], MOST_ROWS)
        face.readings[read.id] = read
        gone = face.take(Take("clicks", label="archived"))
        face.exported["s3://lake/archive/clicks.tar.zst"] = face.savepoints_by_id.pop(gone.id)
        verified = samples.begun("op-verified", "prove", "clicks", proved.id)
        face._keep(replace(verified, state=OperationState.DONE, ended_ms=NOW_MS, result=Trust.PROVED, can_cancel=False))
        error = AlreadyExists("savepoint.exists", f"{proved.id} is here already", "Dispose of it first.")
        face._keep(samples.failed(samples.begun("op-failed", "import", "", "s3://lake/archive/again"), error))
        exporting = samples.begun("op-exporting", "export", "clicks", proved.id)
        face._keep(replace(exporting, amount=replace(exporting.amount, done=500_000)))
        face.begun.clear()
        return face

    def begin_again(self, *, busy: bool = False) -> None:
        """Makes this the sample again, whatever was done to it: for a server that outlasts one test."""
        self.__dict__.update((FakeFace.busy() if busy else FakeFace.sample()).__dict__)

    def otherwise_asked(self, question: Question[Any]) -> Any:
        return getattr(self, "plans" if isinstance(question, ListPlans) else question.call)(question)

    def otherwise_planned(self, change: Change[Any, Any]) -> Any:
        return getattr(self, f"plan_{change.call}")(change)

    def otherwise_begun(self, change: Change[Any, Any]) -> Begun[Any]:
        """What the real workspace would refuse in the plan is refused by the doing here."""
        answer = getattr(self, change.call)(change)
        if not isinstance(answer, Operation) or isinstance(change, CancelOperation):
            return Begun(change, answer=answer)
        self._changes[answer.id] = change
        return Begun(change, answer)

    def answer(self, begun: Begun[Any]) -> Any:
        if begun.operation is None:
            return begun.answer
        while self.operation(ShowOperation(begun.operation.id)).state is OperationState.RUNNING:
            pass
        return self.read_answer(ReadAnswer(begun.operation.id))

    def read_answer(self, question: ReadAnswer) -> Any:
        ended, change = sound(self.operations_by_id[question.operation]), self._changes[question.operation]
        return self.verifications[self._savepoint(change.savepoint).id] if isinstance(change, Verify) else ended

    # jobs
    def jobs(self, question: ListJobs) -> Sequence[JobSummary]:
        return tuple(map(judged, map(self._summary, self.runs)))

    def health(self, question: ShowHealth) -> Health:
        states = [runs[-1].state for runs in self.runs.values()]
        return Health(
            jobs=len(states),
            running=sum(state.live for state in states),
            failed=states.count(RunState.FAILED),
            input_rate=120.5,
            worst_batch_ms_p99=850.0,
            worst_batch_job="post_engagement",
            worst_lag_ms=9_000.0,
            worst_lag_job="post_engagement",
            savepoints=len(self.savepoints_by_id),
            savepoint_bytes=4_000_000,
            t=(NOW_MS - 60_000.0, NOW_MS - 30_000.0, float(NOW_MS)),
            running_line=(1.0, 1.0, 1.0),
            input_line=(100.0, None, 120.5),
            batch_line=(800.0, 900.0, 850.0),
            lag_line=(9_000.0, None, 9_000.0),
            storage_line=(2e6, 2e6, 4e6),
        )

    def job(self, question: ShowJob) -> JobDetail:
        runs = self._runs(question.job)
        return JobDetail(judged(self._summary(question.job)), self._queries(question.job), tuple(reversed(runs)))

    def run(self, request: RunScript) -> Run:
        if job_name(request.name) in self.runs:
            raise AlreadyExists("job.exists", f"a job {request.name!r} exists", "Choose another name.")
        made = version(request.script, request.code, args=request.args, conf=request.conf, master=request.master, python=request.python)
        return self._begin(request.name, made, request.from_savepoint)

    def stop(self, request: Stop) -> Operation:
        job = request.job
        if not self._runs(job)[-1].state.live:
            raise Conflict("job.not_running", f"{job} does not run", "Nothing to stop.")
        keeps = request.savepoint and not request.at_once
        taken = self.take(Take(job, label=request.label), Reason.STOP).id if keeps else ""
        self._end(job, RunState.STOPPED, Exit("stopped", 0, "", "", NOW_MS))
        kind = "cancel" if request.at_once else "stop"
        done = Operation(OperationId(self._id("op")), kind, JobName(job), OperationState.DONE, NOW_MS, NOW_MS, taken)
        return self._keep(done)

    def resume(self, request: Resume) -> Run:
        job = request.job
        self.plan_resume(request)
        old = self.versions[self.runs[job][-1].version]
        rewound = request.batch is not None
        begins = self.take(Take(job, batch=request.batch), Reason.REWIND).id if rewound else request.from_savepoint
        return self._begin(job, _changed(old, request), begins)

    def plan_resume(self, request: Resume) -> RestorePlan:
        job = request.job
        if self._runs(job)[-1].state.live:
            raise Conflict("job.running", f"{job} runs", "Stop it first.")
        if job in self.attached:
            raise Conflict("job.attached", f"{job} runs elsewhere", "Fork a savepoint of it.")
        self._check_batch(request.batch)
        named = self._savepoint(request.from_savepoint).id if request.from_savepoint else ""
        return self._restore_plan(named, job, keeps_query_id=True)

    def attach(self, request: Attach) -> Run:
        if job_name(request.name) in self.runs:
            raise AlreadyExists("job.exists", f"a job {request.name!r} exists", "Choose another name.")
        gone = next((url for url in request.checkpoints.values() if url.endswith("/gone")), None)
        if gone:
            raise NotFound("checkpoint.not_found", f"there is no checkpoint at {gone}", "Give the checkpoint location of the query.")
        self.attached[request.name] = request
        made = version(request.script or "attached.py", request.code, args=request.args, conf=request.conf, master=request.master)
        self._begin(request.name, made, "")
        watched = replace(self.runs[request.name][-1], state=RunState.WATCHED, started_ms=None, pid=None, checkpoints="")
        self.runs[request.name] = [watched]
        return watched

    def rename_query(self, change: RenameQuery) -> Run:
        return self._runs(change.job)[-1]

    def forget(self, change: Forget) -> None:
        job = change.job
        if self._runs(job)[-1].state.live:
            raise Conflict("job.running", f"{job} runs", "Stop it first.")
        del self.runs[job]

    def logs(self, question: ReadLog) -> LogChunk:
        newest, offset = self._runs(question.job)[-1], question.offset
        begin = max(0, len(LOG) + offset) if offset < 0 else offset
        text = LOG[begin : begin + question.limit]
        return LogChunk(RunId(question.run or newest.id), text, begin, begin + len(text), len(LOG))

    def retained(self, question: ListRetained) -> Sequence[RetainedBatch]:
        self._runs(question.job)
        return tuple(samples.retained(batch, self.committed[-1]) for batch in self.committed[-KEPT:])

    def batches(self, question: ListBatches) -> Sequence[BatchRow]:
        self._runs(question.job)
        return tuple(samples.batch_row(batch, self.committed[-1]) for batch in self.committed[: -question.limit - 1 : -1])

    def operators(self, question: ListOperators) -> Sequence[QueryOperators]:
        return (samples.query_operators(),) if self._summary(question.job).batch is not None else ()

    def plans(self, question: ListPlans) -> Sequence[QueryPlan]:
        job, query = question.job, question.query
        known = [samples.query_plan()] if self._summary(job).batch is not None and job not in self.attached else []
        found = tuple(one for one in known if query in ("", one.query))
        if query and not found:
            raise NotFound("plan.not_found", f"no plan of query {query!r}", "See which are known.")
        return found

    def series(self, question: ShowSeries) -> Series:
        self._runs(question.job)
        points, between = question.points, [float(question.from_ms), float(question.to_ms)]
        return Series(JobName(question.job), {"t": between[:points], "batch_ms": [800.0, None][:points]})

    def event_series(self, question: ShowEventSeries) -> Series:
        self._runs(question.job)
        points = question.points
        return Series(JobName(question.job), {"t": [1.0, 2.0][:points], "input_rows": [40.0, 41.0][:points]})

    def events(self, question: ListEvents) -> Sequence[Event]:
        """The newest of the job, whatever else is asked for."""
        return tuple(event for event in self._events() if question.job in ("", event.job))[: question.limit]

    def _events(self) -> Sequence[Event]:
        actors = cycle((PAGE, COMMAND, ""))
        began = [(name, runs[-1].id, next(actors)) for name, runs in self.runs.items()]
        runs = [Event(NOW_MS, "run.started", JobName(name), run, f"{name} began", actor) for name, run, actor in began]
        return [*runs, *self.happened]

    def operation(self, question: ShowOperation) -> Operation:
        return self._advance(_found(self.operations_by_id, question.operation, "operation"))

    def operations(self, question: ListOperations) -> Sequence[Operation]:
        newest_first = reversed(self.operations_by_id.values())
        return tuple(one for one in newest_first if not question.running or one.state is OperationState.RUNNING)

    def cancel(self, change: CancelOperation) -> Operation:
        operation = change.operation
        found = _found(self.operations_by_id, operation, "operation")
        if found.state is not OperationState.RUNNING:
            raise Conflict("operation.ended", f"operation {operation} has ended: {found.state}", "Nothing is left to cancel.")
        if not found.can_cancel:
            raise Conflict("operation.not_cancellable", f"a {found.kind} cannot be called back", "Wait until it has ended.")
        self._work.pop(operation, None)
        return self._keep(replace(found, state=OperationState.CANCELLED, ended_ms=NOW_MS, can_cancel=False))

    # versions
    def version(self, question: ShowVersion) -> Version:
        return _found(self.versions, question.version, "version")

    def tree(self, question: ShowTree) -> Tree:
        lanes = [
            Lane(JobName(name), tuple(runs), self.origins[name].savepoint if name in self.origins else None, None)
            for name, runs in self.runs.items()
        ]
        marks = [
            Mark(s.id, s.job, s.version, s.created_ms, s.batch, s.bytes, s.reason, s.label, s.queries[0].batch_timestamp_ms)
            for s in self.savepoints_by_id.values()
        ]
        return Tree(tuple(lanes), tuple(marks))

    def differences(self, question: Diff) -> Differences:
        return differences(self._point(question.a), self._point(question.b))

    # savepoints
    def savepoints(self, question: ListSavepoints) -> Sequence[Savepoint]:
        return tuple(s for s in reversed(self.savepoints_by_id.values()) if question.job in ("", s.job))

    def savepoint(self, question: ShowSavepoint) -> Savepoint:
        return self._savepoint(question.savepoint)

    def manifest(self, question: ReadManifest) -> Manifest:
        s = self._savepoint(question.savepoint)
        return samples.manifest(s, self.versions[s.version])

    def annotate(self, change: Annotate) -> Savepoint:
        s = self._savepoint(change.savepoint)
        self.savepoints_by_id[s.id] = annotated(s, self.plan_annotate(change))
        return self.savepoints_by_id[s.id]

    def plan_annotate(self, change: Annotate) -> Annotation:
        s = self._savepoint(change.savepoint)
        before = replace(first(s.id, s.label), note=s.note, best_before_ms=s.best_before_ms)
        return changed(before, change.label, change.note, change.best_before_ms, NOW_MS)

    def start_verify(self, change: Verify) -> Operation:
        s = self._savepoint(change.savepoint)
        kind = "prove" if change.level is Trust.PROVED else "verify"
        return self._start(kind, s.job, s.id, lambda: self._verify(s, change.level).reached or "damaged")

    def verification(self, question: ReadVerification) -> Verification | None:
        return self.verifications.get(self._savepoint(question.savepoint).id)

    def diagnose(self, change: Diagnose) -> Sequence[Diagnosis]:
        subject = change.subject
        if subject in self.runs:
            places = [(seen.query, seen.checkpoint) for seen in self._queries(subject)]
        elif subject.startswith("/") and not subject.startswith(ROOT):
            places = [(QUERY, subject)]
            if subject.endswith("/gone"):
                raise NotFound("checkpoint.not_found", f"there is no checkpoint at {subject}", "Give a job, a savepoint or a path.")
        else:
            s = self._savepoint(subject)
            subject, places = s.id, [(QUERY, f"{s.path}/queries/{QUERY}/checkpoint")]
        damaged = subject in self.damaged
        return tuple(samples.diagnosis(subject, checkpoint, query=query, damaged=damaged) for query, checkpoint in places)

    def states(self, question: ListStates) -> Sequence[StateTable]:
        s = self._savepoint(question.savepoint)
        return tuple(replace(one, reading=self.readings.get(reading_id(s.id, one))) for one in self.memory.tables(s))

    def read_state(self, request: ReadState) -> Operation:
        s = self._savepoint(request.savepoint)
        table = chosen(self.states(ListStates(s.id)), request)

        def work() -> str:
            reading = self.memory.reading(s, table, request.limit)
            self.readings[reading.id] = reading
            return reading.id

        return self._start("read", s.job, s.id, work)

    def query_state(self, query: QueryState) -> StateRows:
        table = chosen(self.states(ListStates(query.savepoint)), query)
        if table.reading is None:
            raise NotFound("state.not_read", f"The state {table.title} was not read yet", "Read it first.")
        return self.memory.query(table, query)

    def space(self, question: ShowSpace) -> Space:
        return samples.space(self.savepoints(ListSavepoints(question.job)))

    def plan_export(self, request: Export) -> ExportPlan:
        if request.url in self.exported:
            raise AlreadyExists("export.exists", f"{request.url} is taken", "Choose another URL.")
        return samples.export_plan(self._savepoint(request.savepoint), request)

    def export(self, request: Export) -> Operation:
        s = self._savepoint(request.savepoint)
        self.plan_export(request)

        def work() -> str:
            self.exported[request.url] = s
            if request.then_dispose:
                del self.savepoints_by_id[s.id]
            return request.url

        return self._start("export", s.job, s.id, work)

    def import_savepoint(self, request: Import) -> Operation:
        if request.url not in self.exported:
            raise NotFound("export.not_found", f"there is no savepoint at {request.url}", "Give the URL it was exported to.")
        s = self.exported[request.url]

        def work() -> str:
            if s.id in self.savepoints_by_id:
                raise AlreadyExists("savepoint.exists", f"{s.id} is here already", "Dispose of it first.")
            self.savepoints_by_id[s.id] = replace(s, reason=Reason.IMPORTED, imported_ms=NOW_MS, imported_from=request.url)
            return s.id

        return self._start("import", "", request.url, work)

    def dispose_many(self, change: Dispose) -> Disposal:
        return self._disposal(change, dry_run=False)

    def plan_dispose_many(self, change: Dispose) -> Disposal:
        return self._disposal(change, dry_run=True)

    def _disposal(self, change: Dispose, *, dry_run: bool) -> Disposal:
        if not change.savepoints:
            raise Invalid("dispose.nothing", "No savepoint was named", "Name one or more.")
        outcomes = tuple(self._disposed(name, dry_run) for name in dict.fromkeys(change.savepoints))
        return disposal(outcomes, sum(outcome.plan.frees_bytes for outcome in outcomes if outcome.plan))

    def fork(self, request: Fork) -> Run:
        s = self._savepoint(request.savepoint)
        self.plan_fork(request)
        self.origins[request.name] = Origin(s.id, s.job)
        return self._begin(request.name, _changed(self.versions[s.version], request), s.id)

    def plan_fork(self, request: Fork) -> RestorePlan:
        s = self._savepoint(request.savepoint)
        if job_name(request.name) in self.runs:
            raise AlreadyExists("job.exists", f"a job {request.name!r} exists", "Choose another name.")
        return self._restore_plan(s.id, request.name, keeps_query_id=False)

    # experiments
    def experiments(self, question: ListExperiments) -> Sequence[Experiment]:
        return tuple(self.experiments_by_id.values())

    def experiment(self, question: ShowExperiment) -> Experiment:
        return _found(self.experiments_by_id, question.experiment, "experiment")

    def start_experiment(self, request: StartExperiment) -> Experiment:
        s = self._savepoint(request.savepoint)
        for variant in request.variants:
            self.fork(Fork(s.id, **vars(variant)))
        parents = (s.job,) if request.with_parent else ()
        names = tuple(JobName(variant.name) for variant in request.variants)
        made = Experiment(ExperimentId(self._id("ex")), request.name, s.id, parents + names, NOW_MS)
        self.experiments_by_id[made.id] = made
        return made

    def compare(self, request: Compare) -> Comparison:
        self._runs(request.a)
        self._runs(request.b)
        examples = {"only_a": [{"post": 1, "views": 4}], "only_b": [], "changed": [{"post": 2, "a.views": 3, "b.views": 5}]}
        over_time = OutputOverTime("window", (1.0, 2.0), {"views": (3.0, None)}, {"views": (3.0, 5.0)})
        keys = request.keys or ("post",)
        return Comparison(
            JobName(request.a),
            JobName(request.b),
            request.query or QUERY,
            ("post", "views"),
            keys,
            10,
            9,
            8,
            1,
            0,
            1,
            NOW_MS,
            examples,
            over_time,
            parting=Parting(NOW_MS - 60_000, "window", NOW_MS - 120_000, "changed", {"post": 2, "views": 3}, {"post": 2, "views": 5}),
        )

    def intervals(self, question: ShowIntervals) -> Sequence[Interval]:
        self._runs(question.a)
        self._runs(question.b)
        return samples.intervals()

    def plan_promote(self, request: Promote) -> PromotePlan:
        origin = self._undecided(request.job)
        if origin.job not in self.runs:
            raise Conflict("promote.parent_gone", f"{origin.job} was forgotten", f"{request.job} goes on by itself.")
        version, before = self.runs[request.job][-1].version, self.runs[origin.job][-1]
        restore = self._restore_plan(origin.savepoint, origin.job, keeps_query_id=True) if request.state == "savepoint" else None
        return samples.promote_plan(request.job, origin.job, version, before.version, request.state, restore)

    def promote(self, request: Promote) -> Operation:
        plan, job, origin = self.plan_promote(request), request.job, self._undecided(request.job)
        if self.runs[origin.job][-1].state.live:
            self.stop(Stop(origin.job))
        run = self._begin(origin.job, self.versions[plan.version], "")
        return self._decided(job, Decision(JobName(job), Choice.PROMOTED, NOW_MS, origin.job, plan.version, run.id, None), run.id)

    def plan_drop(self, request: Drop) -> DropPlan:
        origin, live = self._undecided(request.job), self._runs(request.job)[-1].state.live
        steps = (Step(Does.STOP, f"{request.job} ends."), Step(Does.RECORD, "It is marked as dropped."))
        return DropPlan(JobName(request.job), origin.job, ExperimentId("ex-1"), live, 0, steps)

    def drop(self, request: Drop) -> Operation:
        plan, job = self.plan_drop(request), request.job
        ended = self.runs[job][-1].id if plan.stops else None
        if plan.stops:
            self.stop(Stop(job, request.savepoint, request.at_once))
        return self._decided(job, Decision(JobName(job), Choice.DROPPED, NOW_MS, plan.parent, None, ended, None), "")

    def plan_undrop(self, request: Undrop) -> UndropPlan:
        newest, mark = self._runs(request.job)[-1], self._mark(request.job)
        goes = newest.id == mark.run and not newest.state.live
        then = Step(Does.RESUME, f"{request.job} goes on.") if goes else Step(Does.LEAVE, f"{request.job} stays.")
        steps = (Step(Does.UNMARK, "It is marked as dropped no more."), then)
        return UndropPlan(JobName(request.job), self._experiment_of(mark).id, goes, steps)

    def undrop(self, request: Undrop) -> UndropPlan:
        plan, mark, job = self.plan_undrop(request), self._mark(request.job), request.job
        experiment = self._experiment_of(mark)
        self.experiments_by_id[experiment.id] = replace(experiment, decisions=tuple(made for made in experiment.decisions if made != mark))
        return replace(plan, run=self._begin(job, self.versions[self.runs[job][-1].version], "").id if plan.resumes else None)

    def _mark(self, job: str) -> Decision:
        for experiment in self.experiments_by_id.values():
            for made in experiment.decisions:
                if made.job == job and made.choice is Choice.DROPPED:
                    return made
        raise Conflict("decision.not_dropped", f"{job} is not dropped", "Resume it.")

    def _experiment_of(self, mark: Decision) -> Experiment:
        return next(experiment for experiment in self.experiments_by_id.values() if mark in experiment.decisions)

    # the workspace itself
    def start_example(self, change: StartExample) -> Sequence[Run]:
        names = [name for name in ("example_events", "example_counts") if name not in self.runs]
        return tuple(self._begin(name, version(f"{name}.py", "print()\n"), "") for name in names)

    def about(self, question: ShowAbout) -> About:
        return samples.about(len(self.savepoints_by_id), {"jobs": len(self.runs), "savepoints": len(self.savepoints_by_id)})

    def rebuild_catalog(self, change: RebuildCatalog) -> dict[str, int]:
        return {"jobs": len(self.runs), "savepoints": len(self.savepoints_by_id)}

    # plans of what has no other
    def plan_run(self, change: RunScript) -> RunPlan:
        if job_name(change.name) in self.runs:
            raise AlreadyExists("job.exists", f"a job {change.name!r} exists", "Choose another name.")
        told = (change.script, change.args, change.conf, change.master, change.python)
        return RunPlan(JobName(change.name), RunId("r-planned"), VersionId("v-planned"), *told, f"/fake/jobs/{change.name}/output")

    def plan_attach(self, change: Attach) -> AttachPlan:
        return AttachPlan(JobName(change.name), VersionId("v-planned"), change.checkpoints)

    def plan_rename_query(self, change: RenameQuery) -> RenamePlan:
        known = len(self.savepoints(ListSavepoints(change.job)))
        return RenamePlan(JobName(change.job), QueryName(change.query), QueryName(change.to), "/fake/checkpoint", known)

    def plan_forget(self, change: Forget) -> ForgetPlan:
        runs = tuple(run.id for run in self._runs(change.job))
        return ForgetPlan(JobName(change.job), runs, f"/fake/jobs/{change.job}", len(self.savepoints(ListSavepoints(change.job))))

    def plan_stop(self, change: Stop) -> StopPlan:
        return StopPlan(JobName(change.job), self._runs(change.job)[-1].id, change.at_once, change.savepoint)

    def plan_take(self, change: Take) -> TakePlan:
        self._runs(change.job)
        self._check_batch(change.batch)
        return TakePlan(JobName(change.job), {QUERY: change.batch or 9}, 12, 2_000_000, 4_096, "link", change.to)

    def plan_start_verify(self, change: Verify) -> VerifyPlan:
        s = self._savepoint(change.savepoint)
        return VerifyPlan(s.id, s.job, change.level, s.files, s.bytes)

    def plan_diagnose(self, change: Diagnose) -> DiagnosePlan:
        return DiagnosePlan(JobName(change.subject if change.subject in self.runs else ""), change.subject)

    def plan_read_state(self, change: ReadState) -> ReadStatePlan:
        s = self._savepoint(change.savepoint)
        return ReadStatePlan(s.id, s.job, chosen(self.states(ListStates(s.id)), change), change.limit)

    def plan_import_savepoint(self, change: Import) -> ImportPlan:
        return ImportPlan(change.url, change.url.endswith(".tar.zst"))

    def plan_start_experiment(self, change: StartExperiment) -> ExperimentPlan:
        s = self._savepoint(change.savepoint)
        forks = tuple(self._restore_plan(s.id, variant.name, keeps_query_id=False) for variant in change.variants)
        jobs = ((s.job,) if change.with_parent else ()) + tuple(fork.job for fork in forks)
        return ExperimentPlan(ExperimentId("ex-planned"), change.name, s.id, jobs, forks)

    def plan_cancel(self, change: CancelOperation) -> Operation:
        return _found(self.operations_by_id, change.operation, "operation")

    def plan_start_example(self, change: StartExample) -> ExamplePlan:
        return ExamplePlan((JobName("example_events"), JobName("example_counts")))

    def plan_rebuild_catalog(self, change: RebuildCatalog) -> RebuildPlan:
        return RebuildPlan(len(self.runs), len(self.savepoints_by_id))

    # inside
    def _undecided(self, job: str) -> Origin:
        self._runs(job)
        if job not in self.origins:
            raise Conflict("decision.no_fork", f"{job} is no fork", "Resume it with other code.")
        if any(made.job == job for one in self.experiments_by_id.values() for made in one.decisions):
            raise Conflict("decision.made", f"{job} was decided already", "Fork again.")
        return self.origins[job]

    def _decided(self, job: str, made: Decision, result: str) -> Operation:
        for one in list(self.experiments_by_id.values()):
            if job in one.jobs:
                self.experiments_by_id[one.id] = replace(one, decisions=(*one.decisions, made))
        kind, about = ("promote", made.parent) if made.choice is Choice.PROMOTED else ("drop", made.job)
        ended = Operation(OperationId(self._id("op")), kind, about, OperationState.DONE, NOW_MS, NOW_MS, result, subject=job)
        return self._keep(ended)

    def _id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}-{self._ids:012d}"

    def _runs(self, job: str) -> list[Run]:
        return _found(self.runs, job, "job")

    def _savepoint(self, name: str) -> Savepoint:
        for s in self.savepoints_by_id.values():
            if name in (s.id, s.path) or (len(name) > 4 and s.id.startswith(name)):
                return s
        raise NotFound("savepoint.not_found", f"there is no savepoint {name!r}", "List them.")

    def _point(self, named: str) -> Point:
        """Of a job its checkpoint is one batch further than the newest savepoint that the fake can take of it."""
        if named in self.runs:
            run = self.runs[named][-1]
            queries = (samples.query_point(named, 10, rows=120),)
            return Point(named, PointKind.JOB, JobName(named), run.id, self.versions[run.version], run.spark_version, NOW_MS, queries)
        if named in self.versions:
            return Point(named, PointKind.VERSION, JobName(""), None, self.versions[named], "", NOW_MS, None, note="It has no checkpoint.")
        s = self._savepoint(named)
        rows = 116 if s.id in self.verifications else None
        queries = (samples.query_point(s.job, s.batch, rows=rows),)
        version = self.versions[s.version]
        return Point(s.id, PointKind.SAVEPOINT, s.job, s.run, version, s.spark_version, s.created_ms, queries, s.label)

    def _begin(self, name: str, made: Version, from_savepoint: str) -> Run:
        self.versions[made.id] = made
        begun = Run(
            id=RunId(self._id("r")),
            job=JobName(name),
            version=made.id,
            state=RunState.RUNNING,
            created_ms=NOW_MS - 600_000,
            started_ms=NOW_MS - 599_000,
            pid=4711,
            from_savepoint=SavepointId(from_savepoint) if from_savepoint else None,
            checkpoints=f"/fake/jobs/{name}/checkpoints",
            spark_version="4.3.0",
        )
        self.runs.setdefault(name, []).append(begun)
        return begun

    def _end(self, job: str, state: RunState, how: Exit) -> None:
        self.runs[job][-1] = replace(self.runs[job][-1], state=state, ended_ms=NOW_MS, exit=how)

    def take(self, request: Take, reason: Reason = Reason.MANUAL) -> Savepoint:
        job = request.job
        run = self._runs(job)[-1]
        self._check_batch(request.batch)
        batch = self.committed[-1] if request.batch is None else request.batch
        taken = samples.savepoint(
            self._id("sp"), job, version=run.version, run=run.id, batch=batch, reason=reason, label=request.label, to=request.to
        )
        self.savepoints_by_id[taken.id] = taken
        return taken

    def _verify(self, s: Savepoint, level: Trust) -> Verification:
        found = samples.verification(s, level, damaged=s.id in self.damaged)
        if found.reached:
            self.savepoints_by_id[s.id] = replace(s, trust=level, verified_ms=NOW_MS, levels=found.levels)
        else:
            self.savepoints_by_id[s.id] = replace(s, verified_ms=NOW_MS, damaged_files=len(found.damages), levels={})
        self.verifications[s.id] = found
        return found

    def _dispose(self, s: Savepoint, dry_run: bool) -> DisposePlan:
        """As hard links make it: nobody frees what the live checkpoint holds too."""
        if s.id in self.needed:
            said = f"Savepoint {s.id} is needed: a fork is made from it right now"
            raise Conflict("savepoint.in_use", said, "Try again when that has started.")
        if not dry_run:
            del self.savepoints_by_id[s.id]
        return DisposePlan(s.id, s.files, s.bytes, s.new_bytes)

    def _disposed(self, name: str, dry_run: bool) -> DisposeOutcome:
        try:
            plan = self._dispose(self._savepoint(name), dry_run)
        except TidemarkError as error:
            return DisposeOutcome(name, None, refusal(error))
        return DisposeOutcome(plan.savepoint, plan)

    def _start(self, kind: str, job: str, subject: str, work: Callable[[], str]) -> Operation:
        begun = samples.begun(self._id("op"), kind, job, subject)
        self._work[begun.id] = work
        return self._keep(begun)

    def _advance(self, operation: Operation) -> Operation:
        """Each look at an operation that has work finds a quarter more of it done, and with the last one its end."""
        amount = operation.amount
        if operation.id not in self._work or amount is None:
            return operation
        further = replace(operation, amount=replace(amount, done=amount.done + amount.total // 4))
        if further.amount is None or further.amount.done < amount.total:
            return self._keep(further)
        try:
            done = replace(further, state=OperationState.DONE, result=self._work.pop(operation.id)())
        except TidemarkError as error:
            done = samples.failed(further, error)
        return self._keep(replace(done, ended_ms=NOW_MS, can_cancel=False))

    def _keep(self, operation: Operation) -> Operation:
        self.operations_by_id[operation.id] = operation
        return operation

    def _check_batch(self, batch: int | None) -> None:
        if batch is not None and batch not in self.committed[-KEPT:]:
            raise NotFound("batch.gone", f"batch {batch} is not kept any more", "See which are: batches JOB --retained.")

    def _restore_plan(self, savepoint: str, job: str, *, keeps_query_id: bool) -> RestorePlan:
        return samples.restore_plan(savepoint, job, keeps_query_id=keeps_query_id)

    def _queries(self, job: str) -> tuple[QuerySeen, ...]:
        if job in self.attached:
            asked = self.attached[job]
            return tuple(QuerySeen(query, "q-1", asked.sink, asked.sink_path, url, "") for query, url in asked.checkpoints.items())
        here = f"/fake/jobs/{job}"
        return (QuerySeen(QUERY, "q-1", "parquet", f"{here}/output", f"{here}/checkpoints/counts", "http://x:4040"),)

    def _summary(self, name: str) -> JobSummary:
        runs = self._runs(name)
        live = runs[-1].state.live or runs[-1].state is RunState.WATCHED
        own = [s for s in self.savepoints_by_id.values() if s.job == name]
        return JobSummary(
            job=Job(JobName(name), runs[0].created_ms, self.origins.get(name), name in self.attached),
            state=runs[-1].state,
            run=runs[-1],
            queries=1,
            batch=self.committed[-1] if live else None,
            batch_ms_p50=420.0 if live else None,
            batch_ms_p99=850.0 if live else None,
            latency=(400.0, 420.0, 850.0) if live else (),
            input_rate=120.5 if live else None,
            processed_rate=240.0 if live else None,
            lag_ms=9_000.0 if live else None,
            watermark_ms=NOW_MS - 60_000 if live else None,
            late_rows=2 if live else 0,
            state_rows=116 if live else None,
            state_bytes=1_500_000 if live else None,
            checkpoint_bytes=2_000_000 if live else None,
            last_progress_ms=NOW_MS - 3_000 if live else None,
            savepoints=len(own),
            last_savepoint_ms=own[-1].created_ms if own else None,
            restarts=len(runs) - 1,
        )


def judged(job: JobSummary) -> JobSummary:
    """The job with its findings, as the catalog lists it."""
    return replace(job, findings=tuple(of_job(job, NOW_MS)))


def _found(known: dict[str, T], name: str, what: str) -> T:
    if name not in known:
        raise NotFound(f"{what}.not_found", f"there is no {what} {name!r}", "List what there is.")
    return known[name]


def _changed(old: Version, request: Revision) -> Version:
    return version(
        request.script or old.script,
        old.code if request.code is None else request.code,
        args=old.args if request.args is None else request.args,
        conf=old.conf if request.conf is None else request.conf,
        master=request.master or old.master,
        python=old.python,
    )


def _script(name: str, code: str, *, args: tuple[str, ...] = (), conf: Mapping[str, str] | None = None) -> RunScript:
    return RunScript(name=name, script=f"{name}.py", code=code, args=args, conf=conf or {})
