"""What each question finds in the data of a small workspace (`tests.faces`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, TypeVar

from pipelines.domain import logs
from pipelines.domain.access import Role
from pipelines.domain.audit import FIRST, AuditLine, Result, Verified
from pipelines.domain.connector_jars import package_jars
from pipelines.domain.connectors import Connectors, Jars, of_spark
from pipelines.domain.differences import Differences, differences
from pipelines.domain.errors import NotFound
from pipelines.domain.events import COMMAND, PAGE
from pipelines.domain.experiments import BatchRow, Lane, Mark, Series, Tree
from pipelines.domain.home_leases import LeaseSeen
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.jobs import Event, JobDetail, JobSummary
from pipelines.domain.logs import LogChunk, LogSearch
from pipelines.domain.observed import ObservedSeries
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.points import Point, PointKind
from pipelines.domain.savepoints import RetainedBatch, Savepoint
from pipelines.domain.schedules import Schedule, ScheduleState
from pipelines.domain.state_sizes import OperatorSizes
from pipelines.domain.states import StateTable, chosen, reading_id
from pipelines.domain.verdicts import Outcome
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.audit import ListAudit, VerifyAudit
from pipelines.verbs.backups import ListBackups
from pipelines.verbs.connectors import ShowConnectors
from pipelines.verbs.examples import ListExamples, ShownExample
from pipelines.verbs.experiments import Compare, Diff, ListExperiments, ShowExperiment, ShowIntervals, ShowTree, ShowVersion
from pipelines.verbs.homes import ListHomes
from pipelines.verbs.jobs import (
    ListBatches,
    ListJobs,
    ListOperators,
    ListPlans,
    ListQueries,
    ListRetained,
    ListRuns,
    ReadLog,
    SearchLog,
    ShowEventSeries,
    ShowJob,
    ShowLease,
    ShowSeries,
)
from pipelines.verbs.operations import ListOperations, ReadAnswer, ShowOperation
from pipelines.verbs.plan_difference import ComparePlans
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ReadVerification, ShowSavepoint
from pipelines.verbs.schedule import ShowSchedule
from pipelines.verbs.state import ListStates, QueryState, ShowStateSizes
from pipelines.verbs.state_difference import QueryStateDifference, ShowStateDifference
from pipelines.verbs.system import ListEvents, ShowAbout, ShowHealth, ShowSpace
from pipelines.verbs.tokens import ListTokens, ShownToken
from pipelines.verbs.verb import Question
from tests import backed_up, differing, homed, logged, planned, replayed, samples

if TYPE_CHECKING:
    from tests.faces import FakeFace

T = TypeVar("T")
LOG = "line one\nline two\nline three\n"
EXAMPLE = ShownExample(
    JobName("card_fraud"), "Cards that are stolen", ("payments",), JobName("streams"), "card_fraud_longer", "Later", Outcome.CHANGED_MEANING
)
KEPT = 100
"""Batches that Spark keeps of each job, at most."""


def known(data: Mapping[str, T], name: str, what: str) -> T:
    """What the data has of that name."""
    if name not in data:
        raise NotFound(f"{what}.not_found", f"there is no {what} {name!r}", "List what there is.")
    return data[name]


def savepoint(face: FakeFace, name: str) -> Savepoint:
    """By its id or by its path."""
    every = face.savepoints_by_id
    return known({**{s.path: s for s in every.values()}, **every}, name, "savepoint")


def savepoints(face: FakeFace, job: str = "") -> tuple[Savepoint, ...]:
    """Those of the job, newest first."""
    return tuple(s for s in reversed(face.savepoints_by_id.values()) if job in ("", s.job))


def summary(face: FakeFace, job: str) -> JobSummary:
    own = [s for s in face.savepoints_by_id.values() if s.job == job]
    return samples.summary(known(face.runs, job, "job"), face.origins.get(job), job in face.attached, face.committed[-1], own)


def job(face: FakeFace, asked: ShowJob) -> JobDetail:
    shown = summary(face, asked.job)
    queries = face.attached.get(asked.job) or {samples.QUERY: samples.query_seen(asked.job)}
    batches = dict.fromkeys(queries, shown.batch or 0)
    return JobDetail(shown, tuple(queries.values()), tuple(reversed(face.runs[asked.job])), batches)


def lease(face: FakeFace, asked: ShowLease) -> LeaseSeen | None:
    return face.leases.get(known(face.runs, asked.job, "job")[-1].job)


def log(face: FakeFace, asked: ReadLog) -> LogChunk:
    newest, offset = known(face.runs, asked.job, "job")[-1], asked.offset
    begin = max(0, len(face.log) + offset) if offset < 0 else offset
    text = face.log[begin : begin + asked.limit]
    return LogChunk(RunId(asked.run or newest.id), text, begin, begin + len(text), len(face.log))


def found_in_log(face: FakeFace, asked: SearchLog) -> LogSearch:
    lines, run = face.log.encode().splitlines(keepends=True), asked.run or known(face.runs, asked.job, "job")[-1].id
    return logs.search(lines, logs.Wanted(asked.text, asked.level, asked.from_ms, asked.to_ms), asked.limit, RunId(run), size=len(face.log))


def batches(face: FakeFace, asked: ListBatches) -> tuple[BatchRow, ...]:
    """The newest first, of those that had ended by then, and that come after the cursor."""
    rows = [samples.batch_row(batch, face.committed[-1]) for batch in reversed(face.committed)]
    after = next((place for place, row in enumerate(rows, 1) if row.cursor == asked.before), 0)
    return tuple(islice((row for row in rows[after:] if asked.to_ms is None or row.at_ms + row.batch_ms <= asked.to_ms), asked.limit))


def retained(face: FakeFace) -> tuple[RetainedBatch, ...]:
    return tuple(samples.retained(batch, face.committed[-1]) for batch in face.committed[-KEPT:])


def state_sizes(face: FakeFace, asked: ShowStateSizes) -> Sequence[OperatorSizes]:
    taken = savepoints(face, asked.job)[: asked.savepoints]
    return face.memory.sizes(taken[::-1], retained(face), frozenset(reading.savepoint for reading in face.readings.values()))


def events(face: FakeFace, asked: ListEvents) -> tuple[Event, ...]:
    """The newest of the job, whatever else is asked for."""
    actors = cycle((PAGE, COMMAND, ""))
    began = [
        Event(samples.NOW_MS, "run.started", JobName(name), runs[-1].id, f"{name} began", next(actors)) for name, runs in face.runs.items()
    ]
    return tuple(event for event in (*began, *face.happened) if asked.job in ("", event.job))[: asked.limit]


def operation(face: FakeFace, asked: ShowOperation) -> Operation:
    """Each look finds what comes next."""
    if face.later.get(asked.operation):
        face.now[asked.operation] = face.later[asked.operation].pop(0)()
    return known(face.now, asked.operation, "operation")


def operations(face: FakeFace, asked: ListOperations) -> tuple[Operation, ...]:
    return tuple(
        listed_operation
        for listed_operation in reversed(face.now.values())
        if not asked.running or listed_operation.state is OperationState.RUNNING
    )


def tree(face: FakeFace, asked: ShowTree) -> Tree:
    origins = {name: origin.savepoint for name, origin in face.origins.items()}
    return Tree(tuple(Lane(JobName(name), tuple(runs), origins.get(name), None) for name, runs in face.runs.items()), tuple(marks(face)))


def marks(face: FakeFace) -> Iterator[Mark]:
    for s in face.savepoints_by_id.values():
        batches: dict[str, int] = {image.query: image.batch for image in s.queries if image.begun}
        yield Mark(s.id, s.job, s.version, s.created_ms, s.batch, s.bytes, s.reason, s.label, s.queries[0].batch_timestamp_ms, batches)


def states(face: FakeFace, named: str) -> tuple[StateTable, ...]:
    s = savepoint(face, named)
    return tuple(replace(table, reading=face.readings.get(reading_id(s.id, table))) for table in face.memory.tables(s))


def point(face: FakeFace, named: str) -> Point:
    """Of a job its checkpoint is one batch further than the newest savepoint of it can be."""
    now = samples.NOW_MS
    if named in face.runs:
        run = face.runs[named][-1]
        queries = (samples.query_point(named, 10, rows=120),)
        return Point(named, PointKind.JOB, JobName(named), run.id, face.versions[run.version], run.spark_version, now, queries)
    if named in face.versions:
        return Point(named, PointKind.VERSION, JobName(""), None, face.versions[named], "", now, None, note="It has no checkpoint.")
    s = savepoint(face, named)
    queries = (samples.query_point(s.job, s.batch, rows=116 if s.id in face.verifications else None),)
    return Point(s.id, PointKind.SAVEPOINT, s.job, s.run, face.versions[s.version], s.spark_version, s.created_ms, queries, s.label)


def _differences(face: FakeFace, asked: Diff) -> Differences:
    """With the plans once they were compared."""
    told = differences(point(face, asked.a), point(face, asked.b))
    return replace(told, plans=planned.difference()) if ComparePlans(asked.a, asked.b) in face.begun else told


def audited() -> AuditLine:
    return AuditLine(
        1, samples.NOW_MS, "stop", "post_engagement", Result.REFUSED, "access.role", "", "looker for alice", "looker", "127.0.0.1", FIRST
    )


def schedule(face: FakeFace, asked: ShowSchedule) -> ScheduleState:
    """The next times are whole hours from now on."""
    if asked.job:
        known(face.runs, asked.job, "job")
    own, usual = face.schedules.get(asked.job, Schedule()), face.schedules.get("", Schedule())
    return samples.schedule_state(asked.job, own, usual, face.attempts.get(asked.job), face.proof_attempts.get(asked.job))


def series(job: str, columns: Mapping[str, list[Any]], points: int) -> Series:
    t = tuple(float(at) for at in columns["t"])
    observed = (ObservedSeries(samples.QUERY, "checks.bad_rows", t, (4.0, 3.0)),)
    return Series(JobName(job), {name: column[:points] for name, column in columns.items()}, observed=observed)


ANSWERS: Mapping[type[Question[Any]], Callable[[FakeFace, Any], Any]] = {
    ListJobs: lambda face, it: tuple(summary(face, name) for name in face.runs),
    ShowHealth: lambda face, it: samples.health([runs[-1].state for runs in face.runs.values()], len(face.savepoints_by_id)),
    ShowJob: job,
    ShowLease: lease,
    ReadLog: log,
    SearchLog: found_in_log,
    ListRetained: lambda face, it: retained(face),
    ListRuns: lambda face, it: tuple(reversed(known(face.runs, it.job, "job"))),
    ListBatches: batches,
    ListOperators: lambda face, it: (samples.query_operators(),) if summary(face, it.job).batch is not None else (),
    ListQueries: lambda face, it: tuple(samples.query_now(name) for name in face.runs if summary(face, name).batch is not None),
    ListPlans: lambda face, it: (samples.query_plan(),) if summary(face, it.job).batch is not None and it.job not in face.attached else (),
    ShowSeries: lambda face, it: series(it.job, {"t": [float(it.from_ms), float(it.to_ms)], "batch_ms": [800.0, None]}, it.points),
    ShowEventSeries: lambda face, it: series(it.job, {"t": [1.0, 2.0], "input_rows": [40.0, 41.0]}, it.points),
    ListEvents: events,
    ShowOperation: operation,
    ListOperations: operations,
    ReadAnswer: lambda face, it: face.outcomes.get(it.operation) or known(face.now, it.operation, "operation"),
    ShowVersion: lambda face, it: known(face.versions, it.version, "version"),
    ShowTree: tree,
    Diff: _differences,
    ListSavepoints: lambda face, it: savepoints(face, it.job),
    ShowSavepoint: lambda face, it: savepoint(face, it.savepoint),
    ReadManifest: lambda face, it: samples.manifest(savepoint(face, it.savepoint), face.versions[savepoint(face, it.savepoint).version]),
    ReadVerification: lambda face, it: face.verifications.get(savepoint(face, it.savepoint).id),
    ShowStateDifference: lambda face, it: known({differing.DIFFERENCE: differing.difference()}, it.difference, "difference of state"),
    QueryStateDifference: lambda face, it: differing.query(it),
    ListStates: lambda face, it: states(face, it.savepoint),
    ShowStateSizes: state_sizes,
    QueryState: lambda face, it: face.memory.query(chosen(states(face, it.savepoint), it), it),
    ShowAlerts: lambda face, it: samples.alerts(it.job),
    ShowSchedule: schedule,
    ShowSpace: lambda face, it: samples.space(savepoints(face, it.job)),
    ListExperiments: lambda face, it: tuple(face.experiments_by_id.values()),
    ShowExperiment: lambda face, it: known(face.experiments_by_id, it.experiment, "experiment"),
    Compare: lambda face, it: samples.comparison(it),
    **logged.ASKED,
    **replayed.ASKED,
    ListAudit: lambda face, it: (audited(),),
    VerifyAudit: lambda face, it: Verified(1, 1, "ab" * 32, ()),
    ListHomes: lambda face, it: homed.HOMES,
    ListBackups: lambda face, it: (backed_up.BACKUP,),
    ListTokens: lambda face, it: (ShownToken("nightly", Role.OPERATOR, samples.NOW_MS, samples.NOW_MS + 86_400_000, "command"),),
    ShowIntervals: lambda face, it: samples.intervals(),
    ListExamples: lambda face, it: (EXAMPLE,),
    ShowConnectors: lambda face, it: Connectors(it.python, "4.3.0", of_spark("4.3.0", Jars(packages=package_jars(it.conf)))),
    ShowAbout: lambda face, it: samples.about(
        len(face.savepoints_by_id), {"jobs": len(face.runs), "savepoints": len(face.savepoints_by_id)}
    ),
}
