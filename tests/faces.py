"""A workspace in memory: every method of `Face` with plain answers, for tests of the pages, REST and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from pipelines.domain.errors import AlreadyExists, Conflict, NotFound
from pipelines.domain.experiments import (
    BatchRow,
    Comparison,
    Experiment,
    Health,
    Lane,
    Mark,
    OutputOverTime,
    Series,
    Tree,
)
from pipelines.domain.ids import ExperimentId, JobName, OperationId, QueryName, RunId, SavepointId, VersionId, job_name
from pipelines.domain.jobs import Event, Job, JobDetail, JobSummary, LogChunk, Operation, OperationState, Origin, QuerySeen, Run
from pipelines.domain.requests import (
    CompareRequest,
    ExperimentRequest,
    ForkRequest,
    ResumeRequest,
    RunRequest,
    StopRequest,
    TakeRequest,
)
from pipelines.domain.runs import Exit, RunState
from pipelines.domain.savepoints import (
    Damage,
    DisposePlan,
    Manifest,
    Operator,
    QueryImage,
    Reason,
    RestorePlan,
    RetainedBatch,
    Savepoint,
    SinkPlan,
    SourceOffset,
    StoredFile,
    TakePlan,
    Trust,
    Verification,
)
from pipelines.domain.versions import Version, version

NOW_MS = 1_800_000_000_000
"""The fake's own time: 2027-01-15 08:00:00 UTC."""
ROOT = "/fake/savepoints"
QUERY = QueryName("counts")
T = TypeVar("T")
LOG = "line one\nline two\nline three\n"


class FakeFace:
    """Jobs, savepoints and experiments as dictionaries; time stands still at `NOW_MS`, ids count up."""

    def __init__(self) -> None:
        self.runs: dict[str, list[Run]] = {}
        self.origins: dict[str, Origin] = {}
        self.versions: dict[str, Version] = {}
        self.savepoints_by_id: dict[str, Savepoint] = {}
        self.experiments_by_id: dict[str, Experiment] = {}
        self.operations: dict[str, Operation] = {}
        self.damaged: set[str] = set()
        self.calls: list[tuple[str, object]] = []
        """What was asked that changes something: (method, request)."""
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

    def begin_again(self) -> None:
        """Makes this the sample again, whatever was done to it: for a server that outlasts one test."""
        self.__dict__.update(FakeFace.sample().__dict__)

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
        seen = QuerySeen(QUERY, "q-1", "parquet", f"/fake/jobs/{job}/output", f"/fake/jobs/{job}/checkpoints/counts", "http://x:4040")
        return JobDetail(self._summary(job), (seen,), tuple(reversed(runs)))

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
        done = Operation(OperationId(self._id("op")), "stop", JobName(job), OperationState.DONE, NOW_MS, NOW_MS, taken)
        self.operations[done.id] = done
        return done

    def resume(self, job: str, request: ResumeRequest) -> Run | RestorePlan:
        self.calls.append(("resume", request))
        runs = self._runs(job)
        if runs[-1].state.live:
            raise Conflict("job.running", f"{job} runs", "Stop it first.")
        if request.dry_run:
            return self._restore_plan(self._savepoint(request.from_savepoint).id, job, keeps_query_id=True)
        old = self.versions[runs[-1].version]
        return self._begin(job, _changed(old, request), request.from_savepoint)

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
        return tuple(RetainedBatch(QUERY, batch, NOW_MS - (9 - batch) * 10_000, NOW_MS - 60_000) for batch in (7, 8, 9))

    def batches(self, job: str, *, limit: int = 100) -> Sequence[BatchRow]:
        self._runs(job)
        rows = [
            BatchRow(QUERY, batch, NOW_MS, 812.5, 40, 116, NOW_MS - 60_000, 2, {"addBatch": 700.0}, '[{"description": "files"}]')
            for batch in (9, 8, 7)
        ]
        return tuple(rows[:limit])

    def series(self, job: str, *, from_ms: int, to_ms: int, points: int = 600) -> Series:
        self._runs(job)
        return Series(JobName(job), {"t": [float(from_ms), float(to_ms)][:points], "batch_ms": [800.0, None][:points]})

    def event_series(self, job: str, *, points: int = 600) -> Series:
        self._runs(job)
        return Series(JobName(job), {"t": [1.0, 2.0][:points], "input_rows": [40.0, 41.0][:points]})

    def events(self, job: str = "", *, limit: int = 200) -> Sequence[Event]:
        all_events = [Event(NOW_MS, "run.started", JobName(name), runs[-1].id, f"{name} began") for name, runs in self.runs.items()]
        return tuple(event for event in all_events if job in ("", event.job))[:limit]

    def operation(self, operation: str) -> Operation:
        return _found(self.operations, operation, "operation")

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

    # savepoints
    def take(self, job: str, request: TakeRequest) -> Savepoint | TakePlan:
        self.calls.append(("take", request))
        self._runs(job)
        if request.batch is not None and request.batch not in (7, 8, 9):
            raise NotFound("batch.gone", f"batch {request.batch} is not kept any more", "See which are: batches JOB --retained.")
        if request.dry_run:
            return TakePlan(JobName(job), {QUERY: request.batch or 9}, 12, 2_000_000, 4_096, "link")
        return self._taken(job, request)

    def savepoints(self, job: str = "") -> Sequence[Savepoint]:
        return tuple(s for s in reversed(self.savepoints_by_id.values()) if job in ("", s.job))

    def savepoint(self, savepoint: str) -> Savepoint:
        return self._savepoint(savepoint)

    def manifest(self, savepoint: str) -> Manifest:
        s = self._savepoint(savepoint)
        files = (StoredFile("queries/counts/checkpoint/metadata", 45),)
        made = self.versions[s.version]
        return Manifest(
            1,
            s.id,
            s.job,
            made,
            s.run,
            s.created_ms,
            s.reason,
            s.label,
            s.spark_version,
            s.queries,
            files,
            s.new_bytes,
            s.took_ms,
            {"link": 1},
        )

    def verify(self, savepoint: str, level: Trust = Trust.INTACT) -> Verification:
        self.calls.append(("verify", level))
        s = self._savepoint(savepoint)
        if s.id in self.damaged:
            damage = Damage("queries/counts/checkpoint/metadata", "missing", "the file is gone")
            return Verification(s.id, level, None, NOW_MS, s.files, s.bytes, (damage,))
        self.savepoints_by_id[s.id] = replace(s, trust=level, verified_ms=NOW_MS)
        return Verification(s.id, level, level, NOW_MS, s.files, s.bytes)

    def dispose(self, savepoint: str, *, dry_run: bool = False) -> DisposePlan:
        self.calls.append(("dispose", dry_run))
        s = self._savepoint(savepoint)
        if not dry_run:
            del self.savepoints_by_id[s.id]
        return DisposePlan(s.id, s.files, s.bytes, s.new_bytes)

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
        )

    # the workspace itself
    def start_example(self) -> Sequence[Run]:
        self.calls.append(("start_example", None))
        names = [name for name in ("example_events", "example_counts") if name not in self.runs]
        return tuple(self._begin(name, version(f"{name}.py", "print()\n"), "") for name in names)

    def rebuild_catalog(self) -> dict[str, int]:
        self.calls.append(("rebuild_catalog", None))
        return {"jobs": len(self.runs), "savepoints": len(self.savepoints_by_id)}

    # inside
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
        name = SavepointId(self._id("sp"))
        image = QueryImage(
            query=QUERY,
            query_id="q-1",
            batch=9 if request.batch is None else request.batch,
            batch_timestamp_ms=NOW_MS - 20_000,
            watermark_ms=NOW_MS - 60_000,
            offsets=(SourceOffset("0", '{"logOffset":9}'),),
            provider="rocksdb",
            state_format=2,
            operators=(Operator(0, "stateStoreSave", 4, ("default",)),),
            conf={"spark.sql.shuffle.partitions": "4"},
            sink="parquet",
            sink_path=f"/fake/jobs/{job}/output",
            files=12,
            bytes=2_000_000,
        )
        taken = Savepoint(
            id=name,
            job=JobName(job),
            version=VersionId(run.version),
            run=run.id,
            created_ms=NOW_MS,
            reason=reason,
            label=request.label,
            spark_version="4.3.0",
            queries=(image,),
            files=12,
            bytes=2_000_000,
            new_bytes=4_096,
            took_ms=42.5,
            path=f"{ROOT}/{name}",
        )
        self.savepoints_by_id[name] = taken
        return taken

    def _restore_plan(self, savepoint: SavepointId, job: str, *, keeps_query_id: bool) -> RestorePlan:
        sink = SinkPlan(QUERY, "parquet", f"/fake/jobs/{job}/output", "carry", "the sink's log is carried over")
        return RestorePlan(
            savepoint, JobName(job), keeps_query_id, f"/fake/jobs/{job}/checkpoints", 12, 2_000_000, 4_096, "link", (sink,), ("a warning",)
        )

    def _summary(self, name: str) -> JobSummary:
        runs = self._runs(name)
        live = runs[-1].state.live
        own = [s for s in self.savepoints_by_id.values() if s.job == name]
        return JobSummary(
            job=Job(JobName(name), runs[0].created_ms, self.origins.get(name)),
            state=runs[-1].state,
            run=runs[-1],
            queries=1,
            batch=9 if live else None,
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


def _changed(old: Version, request: ForkRequest | ResumeRequest) -> Version:
    return version(
        getattr(request, "script", None) or old.script,
        old.code if request.code is None else request.code,
        args=old.args if request.args is None else request.args,
        conf=old.conf if request.conf is None else request.conf,
        master=request.master or old.master,
        python=old.python,
    )
