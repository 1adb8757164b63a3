"""A workspace in memory: every method of `Face` with plain answers, for tests of the pages, REST and the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import TypeVar

from pipelines.domain.about import About
from pipelines.domain.annotations import annotated, changed, first
from pipelines.domain.decisions import Choice, Decision, DropPlan, PromotePlan, UndropPlan
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.differences import Differences, differences
from pipelines.domain.disposals import Disposal, DisposeOutcome, disposal, refusal
from pipelines.domain.errors import AlreadyExists, Conflict, Invalid, NotFound, TidemarkError
from pipelines.domain.events import COMMAND, EVERY, FAILED, FAILURES, GROUPS, OTHER, PAGE, EventFilter, place_of
from pipelines.domain.experiments import (
    BatchRow,
    Comparison,
    Experiment,
    Health,
    Lane,
    Mark,
    OutputOverTime,
    Parting,
    Series,
    Tree,
)
from pipelines.domain.ids import ExperimentId, JobName, OperationId, RunId, SavepointId, job_name
from pipelines.domain.intervals import Interval
from pipelines.domain.jobs import Event, Job, JobDetail, JobSummary, LogChunk, Origin, QuerySeen, Run
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.operators import QueryOperators
from pipelines.domain.plans import QueryPlan
from pipelines.domain.points import Point, PointKind
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
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.savepoints import DisposePlan, ExportPlan, Manifest, Reason, RestorePlan, RetainedBatch, Savepoint, TakePlan
from pipelines.domain.space import Space
from pipelines.domain.states import MOST_ROWS, Reading, StateQuery, StateRequest, StateRows, StateTable, chosen, reading_id
from pipelines.domain.trust import Trust, Verification
from pipelines.domain.versions import Version, version
from tests import samples
from tests.memory import Memory
from tests.samples import NOW_MS, QUERY, RETAINED, ROOT

__all__ = ["LOG", "NOW_MS", "QUERY", "ROOT", "FakeFace"]
T = TypeVar("T")
LOG = "line one\nline two\nline three\n"
KEPT = 100
"""Batches that Spark keeps of each job, at most."""


class FakeFace:
    """Jobs, savepoints and experiments as dictionaries; time stands still at `NOW_MS`, ids count up."""

    def __init__(self) -> None:
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
        self.attached: dict[str, AttachRequest] = {}
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
        self.calls: list[tuple[str, object]] = []
        """What was asked that changes something: (method, request)."""
        self._work: dict[str, Callable[[], str]] = {}
        """What an operation under way does once it was looked at often enough; one without work goes on until it is cancelled."""
        self.actor = ""
        """Who acted last."""
        self._ids = 0

    @staticmethod
    def sample() -> FakeFace:
        """A running job with two savepoints, a fork of it that failed, a stopped job, and one experiment."""
        face = FakeFace()
        face.run(RunRequest("post_engagement", "post_engagement.py", "print('a')\n", ("--out", "{output}"), {"spark.x": "1"}))
        first = face._taken("post_engagement", TakeRequest(batch=7, label="before ads"))
        face._taken("post_engagement", TakeRequest(batch=9))
        face.fork(first.id, ForkRequest("post_engagement_split", code="print('b')\n"))
        face._end("post_engagement_split", RunState.FAILED, Exit("failed", 1, "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "keys", NOW_MS))
        face.run(RunRequest("post_events", "post_events.py", "print('events')\n"))
        face._end("post_events", RunState.STOPPED, Exit("stopped", 0, "", "", NOW_MS))
        face.experiments_by_id["ex-1"] = Experiment(
            ExperimentId("ex-1"), "ads", first.id, (JobName("post_engagement"), JobName("post_engagement_split")), NOW_MS
        )
        face.calls.clear()
        return face

    @staticmethod
    def busy() -> FakeFace:
        """The sample, and more: a job watched from outside with a proved savepoint of it whose state was read, a savepoint to
        import, three operations.

        The export under way goes on until it is cancelled; of the two that ended, the import failed.
        """
        face = FakeFace.sample()
        face.attach(AttachRequest("clicks", {"counts": "s3://lake/clicks/checkpoint"}, "parquet", "s3://lake/clicks/out"))
        proved = face._taken("clicks", TakeRequest(label="watched"))
        face.verify(proved.id, Trust.PROVED)
        read = face.memory.reading(proved, face.states(proved.id)[0], MOST_ROWS)
        face.readings[read.id] = read
        gone = face._taken("clicks", TakeRequest(label="archived"))
        face.exported["s3://lake/archive/clicks.tar.zst"] = face.savepoints_by_id.pop(gone.id)
        verified = samples.begun("op-verified", "prove", "clicks", proved.id)
        face._keep(replace(verified, state=OperationState.DONE, ended_ms=NOW_MS, result=Trust.PROVED, can_cancel=False))
        error = AlreadyExists("savepoint.exists", f"{proved.id} is here already", "Dispose of it first.")
        face._keep(samples.failed(samples.begun("op-failed", "import", "", "s3://lake/archive/again"), error))
        exporting = samples.begun("op-exporting", "export", "clicks", proved.id)
        face._keep(replace(exporting, amount=replace(exporting.amount, done=500_000)))
        face.calls.clear()
        return face

    def begin_again(self, *, busy: bool = False) -> None:
        """Makes this the sample again, whatever was done to it: for a server that outlasts one test."""
        self.__dict__.update((FakeFace.busy() if busy else FakeFace.sample()).__dict__)

    def acting(self, actor: str) -> FakeFace:
        self.actor = actor
        return self

    # jobs
    def jobs(self) -> Sequence[JobSummary]:
        return tuple(self._summary(name) for name in self.runs)

    def health(self, *, span_ms: int = 900_000) -> Health:
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

    def job(self, job: str) -> JobDetail:
        runs = self._runs(job)
        return JobDetail(self._summary(job), self._queries(job), tuple(reversed(runs)))

    def run(self, request: RunRequest) -> Run:
        self.calls.append(("run", request))
        if job_name(request.name) in self.runs:
            raise AlreadyExists("job.exists", f"a job {request.name!r} exists", "Choose another name.")
        made = version(request.script, request.code, args=request.args, conf=request.conf, master=request.master, python=request.python)
        return self._begin(request.name, made, request.from_savepoint)

    def stop(self, job: str, request: StopRequest) -> Operation:
        self.calls.append(("stop", request))
        if not self._runs(job)[-1].state.live:
            raise Conflict("job.not_running", f"{job} does not run", "Nothing to stop.")
        keeps = request.savepoint and not request.at_once
        taken = self._taken(job, TakeRequest(label=request.label), Reason.STOP).id if keeps else ""
        self._end(job, RunState.STOPPED, Exit("stopped", 0, "", "", NOW_MS))
        kind = "cancel" if request.at_once else "stop"
        done = Operation(OperationId(self._id("op")), kind, JobName(job), OperationState.DONE, NOW_MS, NOW_MS, taken)
        return self._keep(done)

    def resume(self, job: str, request: ResumeRequest) -> Run | RestorePlan:
        self.calls.append(("resume", request))
        runs = self._runs(job)
        if runs[-1].state.live:
            raise Conflict("job.running", f"{job} runs", "Stop it first.")
        if job in self.attached:
            raise Conflict("job.attached", f"{job} runs elsewhere", "Fork a savepoint of it.")
        self._check_batch(request.batch)
        if request.dry_run:
            named = self._savepoint(request.from_savepoint).id if request.batch is None else ""
            return self._restore_plan(named, job, keeps_query_id=True)
        old = self.versions[runs[-1].version]
        rewound = request.batch is not None
        begins = self._taken(job, TakeRequest(batch=request.batch), Reason.REWIND).id if rewound else request.from_savepoint
        return self._begin(job, _changed(old, request), begins)

    def attach(self, request: AttachRequest) -> Run:
        self.calls.append(("attach", request))
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

    def forget(self, job: str) -> None:
        self.calls.append(("forget", job))
        if self._runs(job)[-1].state.live:
            raise Conflict("job.running", f"{job} runs", "Stop it first.")
        del self.runs[job]

    def logs(self, job: str, *, run: str = "", offset: int = -20_000, limit: int = 200_000) -> LogChunk:
        newest = self._runs(job)[-1]
        begin = max(0, len(LOG) + offset) if offset < 0 else offset
        text = LOG[begin : begin + limit]
        return LogChunk(RunId(run or newest.id), text, begin, begin + len(text), len(LOG))

    def retained(self, job: str) -> Sequence[RetainedBatch]:
        self._runs(job)
        return tuple(samples.retained(batch, self.committed[-1]) for batch in self.committed[-KEPT:])

    def batches(self, job: str, *, limit: int = 100) -> Sequence[BatchRow]:
        self._runs(job)
        return tuple(samples.batch_row(batch, self.committed[-1]) for batch in self.committed[: -limit - 1 : -1])

    def operators(self, job: str) -> Sequence[QueryOperators]:
        return (samples.query_operators(),) if self._summary(job).batch is not None else ()

    def plan(self, job: str, *, query: str = "") -> Sequence[QueryPlan]:
        known = [samples.query_plan()] if self._summary(job).batch is not None and job not in self.attached else []
        found = tuple(one for one in known if query in ("", one.query))
        if query and not found:
            raise NotFound("plan.not_found", f"no plan of query {query!r}", "See which are known.")
        return found

    def series(self, job: str, *, from_ms: int, to_ms: int, points: int = 600) -> Series:
        self._runs(job)
        return Series(JobName(job), {"t": [float(from_ms), float(to_ms)][:points], "batch_ms": [800.0, None][:points]})

    def event_series(self, job: str, *, points: int = 600) -> Series:
        self._runs(job)
        return Series(JobName(job), {"t": [1.0, 2.0][:points], "input_rows": [40.0, 41.0][:points]})

    def events(self, job: str = "", *, limit: int = 200, wanted: EventFilter = EVERY) -> Sequence[Event]:
        fits = replace(wanted, job=job or wanted.job)
        known = list(self._events())
        if fits.before:
            at, content = place_of(fits.before)
            known = known[1 + next((n for n, event in enumerate(known) if event.cursor == f"{at}-{content}"), len(known)) :]
        return tuple(event for event in known if _fits(event, fits))[:limit]

    def _events(self) -> Sequence[Event]:
        actors = cycle((PAGE, COMMAND, ""))
        began = [(name, runs[-1].id, next(actors)) for name, runs in self.runs.items()]
        runs = [Event(NOW_MS, "run.started", JobName(name), run, f"{name} began", actor) for name, run, actor in began]
        return [*runs, *self.happened]

    def operation(self, operation: str) -> Operation:
        return self._advance(_found(self.operations_by_id, operation, "operation"))

    def operations(self, *, running: bool = False) -> Sequence[Operation]:
        newest_first = reversed(self.operations_by_id.values())
        return tuple(one for one in newest_first if not running or one.state is OperationState.RUNNING)

    def cancel(self, operation: str) -> Operation:
        self.calls.append(("cancel", operation))
        found = _found(self.operations_by_id, operation, "operation")
        if found.state is not OperationState.RUNNING:
            raise Conflict("operation.ended", f"operation {operation} has ended: {found.state}", "Nothing is left to cancel.")
        if not found.can_cancel:
            raise Conflict("operation.not_cancellable", f"a {found.kind} cannot be called back", "Wait until it has ended.")
        self._work.pop(operation, None)
        return self._keep(replace(found, state=OperationState.CANCELLED, ended_ms=NOW_MS, can_cancel=False))

    # versions
    def version(self, version: str) -> Version:
        return _found(self.versions, version, "version")

    def tree(self) -> Tree:
        lanes = [
            Lane(JobName(name), tuple(runs), self.origins[name].savepoint if name in self.origins else None, None)
            for name, runs in self.runs.items()
        ]
        marks = [
            Mark(s.id, s.job, s.version, s.created_ms, s.batch, s.bytes, s.reason, s.label, s.queries[0].batch_timestamp_ms)
            for s in self.savepoints_by_id.values()
        ]
        return Tree(tuple(lanes), tuple(marks))

    def differences(self, a: str, b: str) -> Differences:
        return differences(self._point(a), self._point(b))

    # savepoints
    def take(self, job: str, request: TakeRequest) -> Savepoint | TakePlan:
        self.calls.append(("take", request))
        self._runs(job)
        self._check_batch(request.batch)
        if request.dry_run:
            return TakePlan(JobName(job), {QUERY: request.batch or 9}, 12, 2_000_000, 4_096, "link")
        return self._taken(job, request)

    def savepoints(self, job: str = "") -> Sequence[Savepoint]:
        return tuple(s for s in reversed(self.savepoints_by_id.values()) if job in ("", s.job))

    def savepoint(self, savepoint: str) -> Savepoint:
        return self._savepoint(savepoint)

    def manifest(self, savepoint: str) -> Manifest:
        s = self._savepoint(savepoint)
        return samples.manifest(s, self.versions[s.version])

    def annotate(self, savepoint: str, request: AnnotateRequest) -> Savepoint:
        self.calls.append(("annotate", request))
        s = self._savepoint(savepoint)
        before = replace(first(s.id, s.label), note=s.note, best_before_ms=s.best_before_ms)
        self.savepoints_by_id[s.id] = annotated(s, changed(before, request, NOW_MS))
        return self.savepoints_by_id[s.id]

    def verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Verification:
        self.calls.append(("verify", level))
        return self._verify(self._savepoint(savepoint), level)

    def start_verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Operation:
        self.calls.append(("start_verify", level))
        s = self._savepoint(savepoint)
        kind = "prove" if level is Trust.PROVED else "verify"
        return self._start(kind, s.job, s.id, lambda: self._verify(s, level).reached or "damaged")

    def verification(self, savepoint: str) -> Verification | None:
        return self.verifications.get(self._savepoint(savepoint).id)

    def diagnose(self, subject: str) -> Sequence[Diagnosis]:
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

    def states(self, savepoint: str) -> Sequence[StateTable]:
        s = self._savepoint(savepoint)
        return tuple(replace(one, reading=self.readings.get(reading_id(s.id, one))) for one in self.memory.tables(s))

    def read_state(self, savepoint: str, request: StateRequest) -> Operation:
        self.calls.append(("read_state", request))
        s = self._savepoint(savepoint)
        table = chosen(self.states(s.id), request)

        def work() -> str:
            reading = self.memory.reading(s, table, request.limit)
            self.readings[reading.id] = reading
            return reading.id

        return self._start("read", s.job, s.id, work)

    def query_state(self, savepoint: str, query: StateQuery) -> StateRows:
        table = chosen(self.states(savepoint), query)
        if table.reading is None:
            raise NotFound("state.not_read", f"The state {table.title} was not read yet", "Read it first.")
        return self.memory.query(table, query)

    def space(self, job: str = "") -> Space:
        return samples.space(self.savepoints(job))

    def export(self, savepoint: str, request: ExportRequest) -> Operation | ExportPlan:
        self.calls.append(("export", request))
        s = self._savepoint(savepoint)
        if request.url in self.exported:
            raise AlreadyExists("export.exists", f"{request.url} is taken", "Choose another URL.")
        if request.dry_run:
            return samples.export_plan(s, request)

        def work() -> str:
            self.exported[request.url] = s
            if request.then_dispose:
                del self.savepoints_by_id[s.id]
            return request.url

        return self._start("export", s.job, s.id, work)

    def import_savepoint(self, request: ImportRequest) -> Operation:
        self.calls.append(("import_savepoint", request))
        if request.url not in self.exported:
            raise NotFound("export.not_found", f"there is no savepoint at {request.url}", "Give the URL it was exported to.")
        s = self.exported[request.url]

        def work() -> str:
            if s.id in self.savepoints_by_id:
                raise AlreadyExists("savepoint.exists", f"{s.id} is here already", "Dispose of it first.")
            self.savepoints_by_id[s.id] = replace(s, reason=Reason.IMPORTED, imported_ms=NOW_MS, imported_from=request.url)
            return s.id

        return self._start("import", "", request.url, work)

    def dispose(self, savepoint: str, *, dry_run: bool = False) -> DisposePlan:
        self.calls.append(("dispose", dry_run))
        return self._dispose(self._savepoint(savepoint), dry_run)

    def dispose_many(self, savepoints: Sequence[str], *, dry_run: bool = False) -> Disposal:
        self.calls.append(("dispose_many", (tuple(savepoints), dry_run)))
        if not savepoints:
            raise Invalid("dispose.nothing", "No savepoint was named", "Name one or more.")
        outcomes = tuple(self._disposed(name, dry_run) for name in dict.fromkeys(savepoints))
        return disposal(outcomes, sum(one.plan.frees_bytes for one in outcomes if one.plan))

    def fork(self, savepoint: str, request: ForkRequest) -> Run | RestorePlan:
        self.calls.append(("fork", request))
        s = self._savepoint(savepoint)
        if job_name(request.name) in self.runs:
            raise AlreadyExists("job.exists", f"a job {request.name!r} exists", "Choose another name.")
        if request.dry_run:
            return self._restore_plan(s.id, request.name, keeps_query_id=False)
        self.origins[request.name] = Origin(s.id, s.job)
        return self._begin(request.name, _changed(self.versions[s.version], request), s.id)

    # experiments
    def experiments(self) -> Sequence[Experiment]:
        return tuple(self.experiments_by_id.values())

    def experiment(self, experiment: str) -> Experiment:
        return _found(self.experiments_by_id, experiment, "experiment")

    def start_experiment(self, request: ExperimentRequest) -> Experiment:
        self.calls.append(("start_experiment", request))
        s = self._savepoint(request.savepoint)
        for variant in request.variants:
            self.fork(s.id, variant)
        parents = (s.job,) if request.with_parent else ()
        names = tuple(JobName(variant.name) for variant in request.variants)
        made = Experiment(ExperimentId(self._id("ex")), request.name, s.id, parents + names, NOW_MS)
        self.experiments_by_id[made.id] = made
        return made

    def compare(self, request: CompareRequest) -> Comparison:
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

    def intervals(self, a: str, b: str, query: str = "") -> Sequence[Interval]:
        self._runs(a)
        self._runs(b)
        return samples.intervals()

    def promote(self, job: str, request: PromoteRequest) -> Operation | PromotePlan:
        self.calls.append(("promote", request))
        origin = self._undecided(job)
        if origin.job not in self.runs:
            raise Conflict("promote.parent_gone", f"{origin.job} was forgotten", f"{job} goes on by itself.")
        version, before = self.runs[job][-1].version, self.runs[origin.job][-1]
        if request.dry_run:
            restore = self._restore_plan(origin.savepoint, origin.job, keeps_query_id=True) if request.state == "savepoint" else None
            return samples.promote_plan(job, origin.job, version, before.version, request.state, restore)
        if before.state.live:
            self.stop(origin.job, StopRequest())
        run = self._begin(origin.job, self.versions[version], "")
        return self._decided(job, origin, Decision(JobName(job), Choice.PROMOTED, NOW_MS, origin.job, version, run.id, None), run.id)

    def drop(self, job: str, request: DropRequest) -> Operation | DropPlan:
        self.calls.append(("drop", request))
        origin = self._undecided(job)
        live = self._runs(job)[-1].state.live
        if request.dry_run:
            return DropPlan(JobName(job), origin.job, ExperimentId("ex-1"), live, 0, (f"{job} ends.", "It is marked as dropped."))
        ended = self.runs[job][-1].id if live else None
        if live:
            self.stop(job, StopRequest(request.savepoint, request.at_once))
        return self._decided(job, origin, Decision(JobName(job), Choice.DROPPED, NOW_MS, origin.job, None, ended, None), "")

    def undrop(self, job: str, request: UndropRequest) -> UndropPlan:
        self.calls.append(("undrop", request))
        newest = self._runs(job)[-1]
        for one in list(self.experiments_by_id.values()):
            mark = next((made for made in one.decisions if made.job == job and made.choice is Choice.DROPPED), None)
            if mark is not None:
                break
        else:
            raise Conflict("decision.not_dropped", f"{job} is not dropped", "Resume it.")
        goes = newest.id == mark.run and not newest.state.live
        plan = UndropPlan(JobName(job), one.id, goes, ("It is marked as dropped no more.", f"{job} goes on." if goes else f"{job} stays."))
        if request.dry_run:
            return plan
        self.experiments_by_id[one.id] = replace(one, decisions=tuple(made for made in one.decisions if made != mark))
        return replace(plan, run=self._begin(job, self.versions[newest.version], "").id if goes else None)

    # the workspace itself
    def start_example(self) -> Sequence[Run]:
        self.calls.append(("start_example", None))
        names = [name for name in ("example_events", "example_counts") if name not in self.runs]
        return tuple(self._begin(name, version(f"{name}.py", "print()\n"), "") for name in names)

    def about(self) -> About:
        return samples.about(len(self.savepoints_by_id), {"jobs": len(self.runs), "savepoints": len(self.savepoints_by_id)})

    def rebuild_catalog(self) -> dict[str, int]:
        self.calls.append(("rebuild_catalog", None))
        return {"jobs": len(self.runs), "savepoints": len(self.savepoints_by_id)}

    # inside
    def _undecided(self, job: str) -> Origin:
        self._runs(job)
        if job not in self.origins:
            raise Conflict("decision.no_fork", f"{job} is no fork", "Resume it with other code.")
        if any(made.job == job for one in self.experiments_by_id.values() for made in one.decisions):
            raise Conflict("decision.made", f"{job} was decided already", "Fork again.")
        return self.origins[job]

    def _decided(self, job: str, origin: Origin, made: Decision, result: str) -> Operation:
        for one in list(self.experiments_by_id.values()):
            if job in one.jobs:
                self.experiments_by_id[one.id] = replace(one, decisions=(*one.decisions, made))
        kind, about = ("promote", origin.job) if made.choice is Choice.PROMOTED else ("drop", made.job)
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

    def _taken(self, job: str, request: TakeRequest, reason: Reason = Reason.MANUAL) -> Savepoint:
        run = self._runs(job)[-1]
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


def _found(known: dict[str, T], name: str, what: str) -> T:
    if name not in known:
        raise NotFound(f"{what}.not_found", f"there is no {what} {name!r}", "List what there is.")
    return known[name]


def _fits(event: Event, wanted: EventFilter) -> bool:
    first, _, last = event.kind.partition(".")
    groups = {first, event.kind, *(group for group, firsts in GROUPS.items() if first in firsts)} | (
        {FAILED} if last in FAILURES else set()
    )
    said = f"{event.kind} {event.job} {event.subject} {event.message} {event.actor}".casefold()
    of_kind = not wanted.kind or wanted.kind in groups or (wanted.kind == OTHER and not any(first in one for one in GROUPS.values()))
    in_time = (wanted.from_ms or event.at_ms) <= event.at_ms <= (wanted.to_ms or event.at_ms)
    of_job, of_actor = wanted.job in ("", event.job), wanted.actor in ("", event.actor)
    return of_kind and in_time and of_job and of_actor and all(word in said for word in wanted.text.casefold().split())


def _changed(old: Version, request: ForkRequest | ResumeRequest) -> Version:
    return version(
        getattr(request, "script", None) or old.script,
        old.code if request.code is None else request.code,
        args=old.args if request.args is None else request.args,
        conf=old.conf if request.conf is None else request.conf,
        master=request.master or old.master,
        python=old.python,
    )
