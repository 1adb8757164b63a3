"""Domain values as a small job would have them: what fakes (`tests.faces`) answer with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.domain import connectors
from pipelines.domain.about import About, Disk, Runtime, Server, Storage, WarmProcess
from pipelines.domain.alert_rules import Rule
from pipelines.domain.alerts import Alert, Alerts, AlertState, Channel, ChannelSeen, PlacedRule, Silence, Told
from pipelines.domain.changed_meanings import ChangedMeaning, KeyExample
from pipelines.domain.decisions import Does, PromotePlan, StateFrom, Step
from pipelines.domain.diagnosis import Diagnosis, Finding
from pipelines.domain.disposals import Disposal, DisposeOutcome, DisposePlan, disposal
from pipelines.domain.edges import Edge
from pipelines.domain.errors import AlreadyExists, TidemarkError
from pipelines.domain.experiments import BatchRow, Comparison, Health, OutputOverTime, Parting
from pipelines.domain.ids import ExperimentId, JobName, OperationId, QueryName, RunId, SavepointId, VersionId
from pipelines.domain.input_rows import InputColumn, InputRows, SourceRows
from pipelines.domain.intervals import Interval, Measure, words
from pipelines.domain.jobs import Job, JobSummary, Origin, QuerySeen, Run
from pipelines.domain.migrations import Aggregate, Becomes, MigratedOperator, Migration
from pipelines.domain.observed import Observed, ObservedNow
from pipelines.domain.operations import Amount, Operation, OperationState
from pipelines.domain.operators import OperatorProgress, QueryOperators
from pipelines.domain.plans import Metric, PlanEdge, PlanNode, QueryPlan
from pipelines.domain.points import QueryPoint, StateOperator, StateStore
from pipelines.domain.pushes import Push
from pipelines.domain.query_figures import QueryNow, SourceNow
from pipelines.domain.restores import RestorePlan, SinkPlan
from pipelines.domain.retention import Judged, PrunePlan
from pipelines.domain.rewrites import OperatorRewrite, RewritePlan
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import (
    ExportPlan,
    Manifest,
    Operator,
    QueryImage,
    Reason,
    RetainedBatch,
    Savepoint,
    SourceOffset,
    StoredFile,
)
from pipelines.domain.schedules import Attempt, Schedule, ScheduleState, over
from pipelines.domain.sources import Backlog, SourceSeen, Waiting
from pipelines.domain.space import SavepointSpace, Space
from pipelines.domain.state_keys import KeyChange, KeyHistory, KeyRows
from pipelines.domain.states import StateColumn, StateRows
from pipelines.domain.trials import Trial, TriedQuery
from pipelines.domain.trust import Damage, Proof, ScratchBatch, StateCount, Trust, Verification
from pipelines.domain.verdicts import Outcome, Part
from pipelines.domain.versions import Version
from pipelines.verbs.experiments import Compare
from pipelines.verbs.export import Export
from pipelines.verbs.rescale import RescalePlan
from pipelines.verbs.upgrade import UpgradePlan
from pipelines.words import catching_up
from pipelines.words.changed_meanings import sentence
from pipelines.words.findings import of_job

NOW_MS = 1_800_000_000_000
"""The fake's own time: 2027-01-15 08:00:00 UTC."""
ROOT = "/fake/savepoints"
QUERY = QueryName("counts")
RETAINED = (7, 8, 9)
"""Batches that a job's checkpoint still holds."""
_ROWS = "number of output rows"
STEPS = {
    "take": "copying",
    "fork": "copying",
    "resume": "copying",
    "verify": "reading files",
    "prove": "reading state",
    "export": "copying",
    "import": "copying",
    "read": "reading rows",
    "compare-state": "comparing keys",
    "backup": "copying documents",
    "check-backup": "reading",
    "restore-backup": "copying",
    "replay": "running batches",
    "bisect": "judging batches",
}


def key_rows(job: str, key: Mapping[str, str], since: int | None = None) -> KeyRows:
    """One row, whatever the key is; changed by the newest batch."""
    row = {"key": dict(key), "value": {"views": 3, "clicks": 1}}
    history = KeyHistory(since, (KeyChange(9, "update", row),)) if since is not None else None
    return KeyRows(JobName(job), QueryName(QUERY), 0, "default", "", 9, NOW_MS, 2, ({**row, "partition_id": 2},), 640.0, history)


def input_rows(job: str, limit: int) -> InputRows:
    """Two rows of files, with a value that is cut, and a source that cannot give its rows again."""
    columns = (InputColumn("post", "string"), InputColumn("value", "string"))
    rows = (("p1", "seven"), ("p2", None))
    files = SourceRows("FileStreamSource", columns, rows[:limit], more=True, cut=1)
    gone = SourceRows("socket", problem="It cannot be read again: a socket gives no row twice.")
    return InputRows(JobName(job), QueryName(QUERY), 10, (files, gone), 5_200.0)


def trial(savepoint: SavepointId, version: VersionId) -> Trial:
    """A batch with two rows."""
    columns = (StateColumn("post", "VARCHAR", "text"), StateColumn("views", "BIGINT", "number"))
    rows = StateRows(columns, (("p1", 3), ("p2", 5)), 2, False, 4.0)
    queries = (TriedQuery(QUERY, ScratchBatch(QUERY, 8, 7, 2, 420.0), rows),)
    return Trial(savepoint, version, queries, "", False, 2_100.0, (changed_meaning(),))


def changed_meaning() -> ChangedMeaning:
    """A sum that became a count, at one key."""
    example = KeyExample({"post": "p1"}, ({"sum": 120},), ({"sum": 131},), ({"sum": 121},))
    reasons = ("computes: sum(n) AS views before, count(n) AS views now",)
    return ChangedMeaning(QUERY, 0, "stateStoreSave", reasons, 8, example, sentence(example, ""))


def query_image(job: str, batch: int) -> QueryImage:
    return QueryImage(
        query=QUERY,
        query_id="q-1",
        batch=batch,
        batch_timestamp_ms=NOW_MS - 20_000,
        watermark_ms=NOW_MS - 60_000,
        offsets=(SourceOffset("0", f'{{"logOffset":{batch}}}'),),
        provider="rocksdb",
        state_format=2,
        operators=(Operator(0, "stateStoreSave", 4, ("default",)),),
        conf={"spark.sql.shuffle.partitions": "4"},
        sink="parquet",
        sink_path=f"/fake/jobs/{job}/output",
        files=12,
        bytes=2_000_000,
    )


def retained(batch: int, newest: int) -> RetainedBatch:
    """One of a batch every ten seconds, the newest of them now; each is committed as it is planned."""
    behind = newest - batch
    planned_ms = NOW_MS - behind * 10_000
    return RetainedBatch(QUERY, batch, planned_ms, NOW_MS - 60_000 - behind // 3 * 30_000, committed_ms=planned_ms)


def batch_row(batch: int, newest: int) -> BatchRow:
    """The same batch, as its progress said it."""
    kept = retained(batch, newest)
    sources = '[{"description": "files"}]'
    observed = (Observed("checks.bad_rows", float(batch)), Observed("checks.newest", None, "2026-11-20 09:00:00"))
    return BatchRow(QUERY, batch, kept.timestamp_ms, 812.5, 40, 116, kept.watermark_ms, 2, {"addBatch": 700.0}, sources, observed)


def query_operators() -> QueryOperators:
    """A file source, a Kafka source that is behind, an aggregation and a join."""
    clicks = "KafkaV2[Subscribe[clicks]]"
    behind = (Backlog(1, clicks, 1_250, "rows"),)
    return QueryOperators(
        query=QUERY,
        batch=9,
        at_ms=NOW_MS - 3_000,
        sources=(
            SourceSeen("FileStreamSource[file:/fake/events]", '{"logOffset":8}', '{"logOffset":9}', "", 40),
            SourceSeen(clicks, '{"clicks":{"0":10}}', '{"clicks":{"0":50,"1":7}}', '{"clicks":{"0":1300,"1":7}}', 47, behind),
        ),
        operators=(
            OperatorProgress("stateStoreSave", 116, 24, 3, 2, 1_200_000, 30, 4, 55, 4, 4, {"rocksdbSstFileSize": 64_000}),
            OperatorProgress("symmetricHashJoin", 480, 87, 0, 0, 300_000, 12, 0, 41, 4, 16),
        ),
        sink="parquet",
        sink_path="/fake/jobs/post_engagement/output",
        output_rows=None,
    )


def query_now(job: str) -> QueryNow:
    """The same query of this job, in numbers."""
    seen = query_operators()
    kinds = (SourceNow("FileStreamSource", 40, 13.5, 49.0), SourceNow("KafkaV2", 47, 15.7, 58.0, seen.sources[1].backlog))
    return QueryNow(
        job=JobName(job),
        query=QUERY,
        run=RunId("r-1"),
        batch=9,
        at_ms=seen.at_ms,
        batch_ms=812.5,
        input_rate=120.5,
        processed_rate=240.0,
        output_rate=98.0,
        lag_ms=9_000.0,
        watermark_lag_ms=60_000.0,
        late_rows=2,
        state_rows=596,
        state_bytes=1_500_000,
        operators=seen.operators,
        sources=kinds,
    )


def query_plan() -> QueryPlan:
    """A join of two scans, counted."""

    def node(at: int, name: str, rows: int, *more: Metric, operator: int | None = None) -> PlanNode:
        return PlanNode(at, name, f"{name} [post#{at}], and whatever Spark says besides", operator, (Metric(_ROWS, rows, "rows"), *more))

    kept = Metric("number of total state rows", 116, "rows")
    nodes = (
        node(0, "WriteToDataSourceV2", 24),
        node(1, "StateStoreSave", 24, kept, Metric("memory used by state", 1_200_000, "bytes"), operator=0),
        node(2, "StreamingSymmetricHashJoin", 87, replace(kept, value=480), operator=1),
        node(3, "Scan json", 40),
        node(4, "MicroBatchScan", 47),
    )
    edges = tuple(PlanEdge(source, target) for source, target in ((1, 0), (2, 1), (3, 2), (4, 2)))
    return QueryPlan(QUERY, 9, NOW_MS - 3_000, nodes, edges)


def query_point(job: str, batch: int, *, rows: int | None) -> QueryPoint:
    """The query at a batch, with its one stateful operator."""
    store = StateStore("default", "window struct<start timestamp, end timestamp>, post string", "count long")
    return QueryPoint(query_image(job, batch), (StateOperator(0, "stateStoreSave", 4, (store,), rows, 1_500_000),))


def savepoint(
    named: str, job: str, *, version: VersionId, run: RunId, batch: int = 9, reason: Reason = Reason.MANUAL, label: str = "", to: str = ""
) -> Savepoint:
    return Savepoint(
        id=SavepointId(named),
        job=JobName(job),
        version=version,
        run=run,
        created_ms=NOW_MS,
        reason=reason,
        label=label,
        spark_version="4.3.0",
        queries=(query_image(job, batch),),
        files=12,
        bytes=2_000_000,
        new_bytes=4_096,
        took_ms=42.5,
        path=to or f"{ROOT}/{named}",
    )


def edge(savepoint: str) -> Edge:
    """Of a run whose code counts otherwise, and for which an aggregate was added and an operator dropped."""
    added = Aggregate(Becomes.ADDED, "count(1)", "0")
    rewritten = MigratedOperator("counts", 0, 12, 12, "sum long", "sum long, count long", (added,))
    part = Part("counts", 0, "stateStoreSave", Outcome.CHANGED_MEANING, ("computes: sum(n) before, sum(2 * n) now",))
    migration = Migration("columns", "", (rewritten,), "", dropped=("counts.1",))
    return Edge(Outcome.CHANGED_MEANING, SavepointId(savepoint), (part,), migration)


def run(named: str, job: str, version: VersionId, state: RunState = RunState.RUNNING, from_savepoint: str = "") -> Run:
    """A run of ten minutes; one that is watched has no process here."""
    here = state is not RunState.WATCHED
    return Run(
        id=RunId(named),
        job=JobName(job),
        version=version,
        state=state,
        created_ms=NOW_MS - 600_000,
        started_ms=NOW_MS - 599_000 if here else None,
        pid=4711 if here else None,
        from_savepoint=SavepointId(from_savepoint) if from_savepoint else None,
        checkpoints=f"/fake/jobs/{job}/checkpoints" if here else "",
        spark_version="4.3.0",
    )


def query_seen(job: str) -> QuerySeen:
    here = f"/fake/jobs/{job}"
    return QuerySeen(QUERY, "q-1", "parquet", f"{here}/output", f"{here}/checkpoints/counts", "http://x:4040")


def summary(runs: Sequence[Run], origin: Origin | None, attached: bool, newest: int, own: Sequence[Savepoint]) -> JobSummary:
    """The job of these runs and savepoints; its numbers are known while it runs."""
    live = runs[-1].state.live or runs[-1].state is RunState.WATCHED
    return judged(
        JobSummary(
            job=Job(runs[-1].job, runs[0].created_ms, origin, attached),
            state=runs[-1].state,
            run=runs[-1],
            queries=1,
            batch=newest if live else None,
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
            gap_ms=1_050.0 if live else None,
            backlog=(Waiting("rows", 1_200, -10.0),) if live else (),
            observed=(ObservedNow(QUERY, "checks.bad_rows", 3.0),) if live and not attached else (),
        )
    )


def judged(job: JobSummary) -> JobSummary:
    """The job with its findings, as the catalog lists it."""
    return replace(job, catching_up=catching_up.shown(job), findings=tuple(of_job(job, NOW_MS)))


def health(states: Sequence[RunState], savepoints: int) -> Health:
    """Jobs of these states, over a minute."""
    return Health(
        jobs=len(states),
        running=sum(state.live for state in states),
        failed=states.count(RunState.FAILED),
        input_rate=120.5,
        worst_batch_ms_p99=850.0,
        worst_batch_job="post_engagement",
        worst_lag_ms=9_000.0,
        worst_lag_job="post_engagement",
        savepoints=savepoints,
        savepoint_bytes=4_000_000,
        t=(NOW_MS - 60_000.0, NOW_MS - 30_000.0, float(NOW_MS)),
        running_line=(1.0, 1.0, 1.0),
        input_line=(100.0, None, 120.5),
        batch_line=(800.0, 900.0, 850.0),
        lag_line=(9_000.0, None, 9_000.0),
        storage_line=(2e6, 2e6, 4e6),
    )


def comparison(asked: Compare) -> Comparison:
    """Eight rows are equal, one was changed, one is only in A."""
    examples = {"only_a": [{"post": 1, "views": 4}], "only_b": [], "changed": [{"post": 2, "a.views": 3, "b.views": 5}]}
    over_time = OutputOverTime("window", (1.0, 2.0), {"views": (3.0, None)}, {"views": (3.0, 5.0)})
    parting = Parting(NOW_MS - 60_000, "window", NOW_MS - 120_000, "changed", {"post": 2, "views": 3}, {"post": 2, "views": 5})
    jobs, keys = (JobName(asked.a), JobName(asked.b)), asked.keys or ("post",)
    rows = (10, 9, 8, 1, 0, 1)
    return Comparison(*jobs, asked.query or QUERY, ("post", "views"), keys, *rows, NOW_MS, examples, over_time, parting=parting)


def manifest(s: Savepoint, version: Version) -> Manifest:
    files = (StoredFile("queries/counts/checkpoint/metadata", 45),)
    return Manifest(
        1,
        s.id,
        s.job,
        version,
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


def proof() -> Proof:
    state = StateCount(QUERY, 0, "stateStoreSave", 116, 116)
    return Proof("4.3.0", (state,), (ScratchBatch(QUERY, 10, 40, 12, 812.5),), 9_500.0)


def verification(s: Savepoint, level: Trust, *, damaged: bool = False) -> Verification:
    """What a verify of `s` at `level` finds: it reached that level, and those below it before; or one missing file."""
    if damaged:
        return Verification(s.id, level, None, NOW_MS, s.files, s.bytes, (damage(),))
    reached = {trust: NOW_MS - 60_000 for trust in Trust if list(Trust).index(trust) < list(Trust).index(level)}
    levels = {**s.levels, **reached, level: NOW_MS}
    return Verification(
        s.id, level, level, NOW_MS, s.files, s.bytes, sealed_ms=NOW_MS, levels=levels, proof=proof() if level is Trust.PROVED else None
    )


def damage() -> Damage:
    return Damage("queries/counts/checkpoint/metadata", "missing", "the file is gone")


def diagnosis(subject: str, checkpoint: str, *, query: str = QUERY, damaged: bool = False) -> Diagnosis:
    """The doctor's word on one checkpoint: all is well, or batch 9 cannot be restored for want of one state file."""
    finding = Finding(Damage("state/0/3/9.delta", "missing", "the file is gone"), (9,), "state of operator 0, partition 3")
    return Diagnosis(
        subject=subject,
        query=QueryName(query),
        checkpoint=checkpoint,
        files=12,
        bytes=2_000_000,
        findings=(finding,) if damaged else (),
        newest_committed=RETAINED[-1],
        restorable=RETAINED[:-1] if damaged else RETAINED,
        advice="Batch 8 is whole: go back to it with resume --batch 8." if damaged else "Nothing is damaged.",
    )


def space(savepoints: Sequence[Savepoint]) -> Space:
    """As hard links make it: one live checkpoint that holds all but what each savepoint wrote itself."""
    each = tuple(SavepointSpace(s.id, s.bytes, s.new_bytes) for s in savepoints)
    own = sum(row.frees_bytes for row in each)
    shared = max((row.shared_bytes for row in each), default=0)
    return Space(each, sum(row.bytes for row in each), own + shared, own, shared if len(each) > 1 else 0)


def schedule_state(
    job: str, own: Schedule, usual: Schedule, last: Attempt | None = None, last_proof: Attempt | None = None
) -> ScheduleState:
    """The next times are whole hours from now on; the next proof is in twelve."""
    holds = over(own, usual)
    coming = tuple(NOW_MS + hours * 3_600_000 for hours in (1, 2, 3)) if holds.times else ()
    proof_ms = NOW_MS + 12 * 3_600_000 if holds.prove_at else None
    return ScheduleState(JobName(job), own, usual, holds, coming, last, proof_ms, last_proof)


def alerts(job: str) -> Alerts:
    """One fires, one rule is the job's own; the channel's variable is given."""
    fires = Alert(
        "lag", JobName("post_engagement"), AlertState.FIRING, NOW_MS - 600_000, "event_time_lag_seconds is 6m 12s; limit > 5m 00s"
    )
    fires = replace(fires, fired_ms=NOW_MS - 300_000, told=(Told("oncall", NOW_MS - 290_000),))
    rules = (
        PlacedRule("post_engagement", Rule("lag", "event_time_lag_seconds > 5m", "1m", 300_000)),
        PlacedRule("", Rule("failed", "failed")),
    )
    silences = (Silence("post_events", "", NOW_MS + 3_600_000, "alice", NOW_MS),)
    held = (fires,) if job in ("", fires.job) else ()
    lasting = tuple(silence for silence in silences if job in ("", silence.job))
    return Alerts(job, rules, held, lasting, (ChannelSeen(Channel("oncall", env="TIDEMARK_ONCALL_URL"), True),))


def pruned(oldest: Savepoint) -> PrunePlan:
    """The oldest goes."""
    return PrunePlan((Judged(oldest.id, oldest.job, oldest.created_ms, ("keep", "keep_ms")),), (), disposed(oldest))


def disposed(*savepoints: Savepoint, refused: Sequence[DisposeOutcome] = ()) -> Disposal:
    """Of those savepoints, and of none that is refused; nobody frees what the live checkpoint holds too."""
    outcomes = [DisposeOutcome(s.id, DisposePlan(s.id, s.files, s.bytes, s.new_bytes)) for s in savepoints]
    return disposal((*outcomes, *refused), sum(s.new_bytes for s in savepoints))


def export_plan(s: Savepoint, request: Export) -> ExportPlan:
    archive = request.url.endswith(".tar.zst") if request.archive is None else request.archive
    return ExportPlan(s.id, request.url, archive, s.files, s.bytes, "stream" if archive else "copy", request.then_dispose, s.job)


def restore_plan(named: str, job: str, *, keeps_query_id: bool) -> RestorePlan:
    sink = SinkPlan(QUERY, "parquet", f"/fake/jobs/{job}/output", "continue", "the sink's log is carried over")
    return RestorePlan(
        SavepointId(named),
        JobName(job),
        keeps_query_id,
        f"/fake/jobs/{job}/checkpoints",
        12,
        2_000_000,
        4_096,
        "link",
        (sink,),
        ("a warning",),
        saves=("before it went back",) if keeps_query_id else (),
        judged=SavepointId(named) if named else None,
    )


def rescale_plan(job: str, partitions: int) -> RescalePlan:
    """Of a job that runs, with an aggregation of four partitions."""
    rewritten = OperatorRewrite(QUERY, 0, "stateStoreSave", 1, 4, 1_800_000)
    rewrite = RewritePlan(partitions, (rewritten,), {QUERY: 10}, ("late keeps no state",))
    steps = (Step(Does.STOP, f"{job} stops at its next batch boundary, with a savepoint."), Step(Does.RESUME, f"{job} goes on."))
    restore = replace(restore_plan("", job, keeps_query_id=True), rewrite=rewrite)
    return RescalePlan(JobName(job), RunId("r-000000000001"), partitions, True, steps, restore)


def upgrade_plan(job: str, restore: RestorePlan) -> UpgradePlan:
    """Of a job that runs."""
    steps = (Step(Does.STOP, f"{job} stops at its next batch boundary, with a savepoint."), Step(Does.RESUME, f"{job} goes on."))
    return UpgradePlan(JobName(job), RunId("r-000000000001"), VersionId("v-000000000001"), True, steps, restore)


def intervals() -> tuple[Interval, ...]:
    """One that tells a difference, one that does not, one that is the same, and one that is not known."""
    examples = (
        Interval(Measure.BATCH_MS, 85, 420.0, 471.0, 0.12, 0.05, 0.19),
        Interval(Measure.PROCESSED_RATE, 85, 240.0, 243.0, 0.0125, -0.04, 0.06),
        Interval(Measure.STATE_ROWS, 85, 116.0, 116.0, 0.0, 0.0, 0.0),
        Interval(Measure.STATE_BYTES, 7, 1_500_000.0, 1_600_000.0),
    )
    return tuple(replace(interval, words=words(interval)) for interval in examples)


def promote_plan(
    job: str, parent: str, version: VersionId, replaces: VersionId, state: StateFrom, restore: RestorePlan | None
) -> PromotePlan:
    steps = (
        Step(Does.STOP, f"{parent} stops at its next batch boundary, with a savepoint."),
        Step(Does.RESUME, f"{parent} goes on: version {version}."),
        Step(Does.RECORD, "The variant keeps running."),
    )
    warnings = (f"Its arguments become those of {job}, too.",)
    return PromotePlan(JobName(job), JobName(parent), ExperimentId("ex-1"), version, replaces, 12, 3, True, state, steps, warnings, restore)


def begun(named: str, kind: str, job: str, subject: str) -> Operation:
    """An operation that has done nothing yet of two million bytes."""
    amount = Amount(STEPS[kind], 0, 2_000_000)
    return Operation(
        OperationId(named), kind, JobName(job), OperationState.RUNNING, NOW_MS, subject=subject, amount=amount, can_cancel=True
    )


def further(operation: Operation, done: int) -> Operation:
    """The operation when so much of it is done."""
    assert operation.amount is not None
    return replace(operation, amount=replace(operation.amount, done=done))


def done(operation: Operation, result: str = "") -> Operation:
    """The operation when it has ended well."""
    ended = replace(operation, state=OperationState.DONE, ended_ms=NOW_MS, result=result, can_cancel=False)
    return further(ended, ended.amount.total) if ended.amount else ended


def cancelled(operation: Operation) -> Operation:
    """The operation when it was called back."""
    return replace(operation, state=OperationState.CANCELLED, ended_ms=NOW_MS, can_cancel=False)


def course(operation: Operation, result: str = "") -> tuple[Operation, ...]:
    """The operation as it begins, by quarters, and when it has ended well."""
    total = operation.amount.total if operation.amount else 0
    return (operation, *(further(operation, total * quarter // 4) for quarter in (1, 2, 3)), done(operation, result))


def ended(named: str, kind: str, job: str, result: str = "", subject: str = "") -> Operation:
    """An operation without steps that has ended well."""
    return Operation(OperationId(named), kind, JobName(job), OperationState.DONE, NOW_MS, NOW_MS, result, subject=subject)


def here_already(savepoint: str) -> AlreadyExists:
    """What an import of a savepoint that is there is refused with."""
    return AlreadyExists("savepoint.exists", f"{savepoint} is here already", "Dispose of it first.")


def failed(operation: Operation, error: TidemarkError) -> Operation:
    """The operation as `error` ended it."""
    return replace(
        operation,
        state=OperationState.FAILED,
        ended_ms=NOW_MS,
        error_group=error.group,
        error_code=error.code,
        error_message=error.message,
        error_hint=error.hint,
        can_cancel=False,
    )


def about(savepoints: int, rows: dict[str, int]) -> About:
    """A server on a laptop, with one job on a Python of its own."""
    needs = connectors.of_spark("4.3.0", connectors.Jars())[:2]
    own = Runtime("/srv/tidemark/.venv/bin/python", "3.11.7", "4.3.0", "/usr/lib/jvm/java-17", "17.0.9", False, 2, needs)
    lacks, hint = (
        "PySpark 3.5.7 runs on Java 17 to 23",
        "Install Java 17, or name the JAVA_HOME of one that is there already (--java-home).",
    )
    other = Runtime("/opt/python3.12/bin/python", "3.12.4", "3.5.7", "", "", False, 1, problem=lacks, hint=hint)
    disk = Disk("ext4", 500_000_000_000, 120_000_000_000, True, False)
    s3 = {"AWS_ACCESS_KEY_ID": True, "AWS_SECRET_ACCESS_KEY": True, "AWS_ENDPOINT_URL": False}
    storage = Storage("/srv/tidemark/data/workspace", "w-1a2b3c", 1, 5, 78_900_000, rows, savepoints, 4_000_000, disk, s3)
    server = Server("http://127.0.0.1:8501", True, "0.1.0", "1a2b3c4d5e6f", 4711, "jobs/JOB/runs/RUN/driver.log")
    warm = (WarmProcess(4712, "", 640_000_000, True, ""), WarmProcess(4713, "/opt/python", 500_000_000, True, "pipelines.sandbox"))
    collector = Push("OTLP", "http://collector:4318/v1/metrics", 60.0, NOW_MS - 20_000)
    agent = Push("StatsD", "udp://agent:8125", 10.0, NOW_MS - 300_000, "[Errno 111] Connection refused", NOW_MS - 5_000, True)
    return About((own, other), "local[2]", storage, server, warm, 1_140_000_000, 3_221_225_472, (collector, agent))
