"""The plan of each change, and what it answers, as a small workspace (`tests.faces`) has them; what they did is not to be seen there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipelines.domain import verdicts
from pipelines.domain.access import Role
from pipelines.domain.annotations import Annotation, first
from pipelines.domain.audit import AuditPrunePlan, SealedEntries
from pipelines.domain.decisions import Does, DropPlan, Step, UndropPlan
from pipelines.domain.disposals import Disposal, DisposeOutcome
from pipelines.domain.errors import NotFound, refusal
from pipelines.domain.experiments import Experiment
from pipelines.domain.holdings import HoldingsPlan
from pipelines.domain.ids import ExperimentId, JobName, OperationId, QueryName, RunId, SavepointId, VersionId, given_query_name
from pipelines.domain.job_limits import JobLimits, changed
from pipelines.domain.job_places import at
from pipelines.domain.jobs import Job
from pipelines.domain.operations import Operation, OperationState
from pipelines.domain.resources import ALL, Means
from pipelines.domain.resources import changed as taking
from pipelines.domain.restart_strategies import RestartStrategy
from pipelines.domain.restart_strategies import changed as restarting
from pipelines.domain.restarts import FailedBatch
from pipelines.domain.restores import RestorePlan
from pipelines.domain.retention import PrunePlan
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint, TakePlan
from pipelines.domain.schedules import Schedule, SchedulePlan, ScheduleState
from pipelines.domain.schedules import changed as rescheduled
from pipelines.domain.states import chosen
from pipelines.domain.trust import Trust
from pipelines.domain.verdicts import Outcome, Part
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.attach import Attach, AttachPlan
from pipelines.verbs.audit import PruneAudit
from pipelines.verbs.backups import CheckBackup, CreateBackup, RestoreBackup
from pipelines.verbs.check import Check, CheckPlan
from pipelines.verbs.diagnose import Diagnose, DiagnosePlan
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.experiment import ExperimentPlan, StartExperiment
from pipelines.verbs.export import Export
from pipelines.verbs.forget import Forget, ForgetPlan
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.import_ import Import, ImportPlan
from pipelines.verbs.input_rows import InputRowsPlan, ReadInputRows
from pipelines.verbs.operations import CancelOperation
from pipelines.verbs.plan_difference import ComparePlans, PlanDifferencePlan
from pipelines.verbs.promote import Promote
from pipelines.verbs.prune import Prune
from pipelines.verbs.rename_query import RenamePlan, RenameQuery
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.resources import ResourcesPlan, SetResources
from pipelines.verbs.restart_strategy import RestartStrategyPlan, SetRestartStrategy
from pipelines.verbs.resume import JobsResume, Resume, ResumeJobs, ResumeOutcome
from pipelines.verbs.run import RunPlan, RunScript
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.verbs.schedule import SetSchedule
from pipelines.verbs.set_limits import LimitsPlan, SetLimits
from pipelines.verbs.state import ListStates, ReadState, ReadStatePlan
from pipelines.verbs.state_difference import CompareState, StateDifferencePlan
from pipelines.verbs.state_key import LookUpKey, LookUpKeyPlan
from pipelines.verbs.stop import JobsStop, Stop, StopJobs, StopOutcome, StopPlan
from pipelines.verbs.system import ExamplePlan, RebuildCatalog, RebuildPlan, StartExample
from pipelines.verbs.take import Take
from pipelines.verbs.tokens import CreateToken, NewToken, RevokeToken, ShownToken, TokenPlan
from pipelines.verbs.try_code import TrialPlan, TryCode
from pipelines.verbs.upgrade import Upgrade
from pipelines.verbs.verb import Change
from pipelines.verbs.verify import Verify, VerifyPlan
from tests import alerting, backed_up, differing, homed, logged, planned, replayed, samples
from tests.samples import QUERY

if TYPE_CHECKING:
    from tests.faces import FakeFace

RUN, SAVEPOINT, VERSION = "r-000000000100", "sp-000000000100", VersionId("v-100")
"""What begins, is taken, is planned."""
USUAL = RestartStrategy()
PRUNED_AUDIT = AuditPrunePlan((SealedEntries("audit/000000000001-000000005000.jsonl.gz", 1, 5_000, 200_000),), 200_000)
EXAMPLE = ("example_events", "example_counts")
COUNTED = Part("engagement", 0, "stateStoreSave", Outcome.CHANGED_MEANING, ("computes: sum(v) before, count(v) now",))
GOES_ON = (Step(Does.UNMARK, "It is marked as dropped no more."), Step(Does.LEAVE, "It stays as it is."))
Told = Mapping[type[Change[Any, Any]], Callable[["FakeFace", Any], Any]]


def _of(face: FakeFace, name: str) -> Savepoint:
    return face.ask(ShowSavepoint(name))  # type: ignore[no-any-return]


def _restore(savepoint: str, job: str, *, keeps: bool = False) -> RestorePlan:
    return samples.restore_plan(savepoint, job, keeps_query_id=keeps)


def _resumption(face: FakeFace, change: Resume) -> RestorePlan:
    """From the present state, too, the code is checked: against the newest savepoint."""
    newest = next((saved.id for saved in face.ask(ListSavepoints(change.job))), None)
    plan = _restore(change.from_savepoint, change.job, keeps=True)
    return replace(plan, judged=plan.judged or newest)


def _annotation(face: FakeFace, change: Annotate) -> Annotation:
    s = _of(face, change.savepoint)
    return first(s.id, s.label if change.label is None else change.label)


def _disposal(face: FakeFace, change: Dispose) -> Disposal:
    named = {name: face.savepoints_by_id.get(name) for name in change.savepoints}
    gone = [(name, NotFound("savepoint.not_found", f"there is no savepoint {name!r}", "List them.")) for name, s in named.items() if not s]
    refused = [DisposeOutcome(name, None, refusal(error)) for name, error in gone]
    return samples.disposed(*(s for s in named.values() if s), refused=refused)


def _stops(face: FakeFace, change: StopJobs) -> JobsStop:
    return JobsStop(tuple(_stop_outcome(face, Stop(job, change.savepoint, change.at_once, change.label)) for job in change.jobs))


def _stop_outcome(face: FakeFace, change: Stop) -> StopOutcome:
    if change.job not in face.runs:
        return StopOutcome(change.job, None, refusal(_no_job(change.job)))
    return StopOutcome(change.job, PLANS[Stop](face, change))


def _stopped(face: FakeFace, change: StopJobs) -> JobsStop:
    """Each stop is under way as an operation, which has ended when it is looked at again."""
    return JobsStop(
        tuple(
            replace(outcome, operation=_stopping(face, outcome.job)) if outcome.plan else outcome for outcome in face.plan(change).outcomes
        )
    )


def _stopping(face: FakeFace, job: str) -> Operation:
    running = Operation(OperationId(f"op-stop-{job}"), "stop", JobName(job), OperationState.RUNNING, samples.NOW_MS)
    newest = next((saved.id for saved in face.ask(ListSavepoints(job))), "")
    return face.under_way(running, running, samples.done(running, newest))


def _resumes(face: FakeFace, change: ResumeJobs) -> JobsResume:
    return JobsResume(tuple(_resume_outcome(face, Resume(job, force=change.force)) for job in change.jobs))


def _resume_outcome(face: FakeFace, change: Resume) -> ResumeOutcome:
    if change.job not in face.runs:
        return ResumeOutcome(change.job, None, refusal(_no_job(change.job)))
    return ResumeOutcome(change.job, _resumption(face, change))


def _resumed(face: FakeFace, change: ResumeJobs) -> JobsResume:
    return JobsResume(
        tuple(replace(outcome, run=begun(outcome.job)) if outcome.plan else outcome for outcome in face.plan(change).outcomes)
    )


def _no_job(name: str) -> NotFound:
    return NotFound("job.not_found", f"There is no job {name}", "List them.")


def _scheduled(face: FakeFace, change: SetSchedule) -> ScheduleState:
    own, usual = face.schedules.get(change.job, Schedule()), face.schedules.get("", Schedule())
    return samples.schedule_state(change.job, rescheduled(own, change.given(), samples.NOW_MS), usual)


def _schedule_plan(face: FakeFace, change: SetSchedule) -> SchedulePlan:
    state = _scheduled(face, change)
    return SchedulePlan(
        state.job, face.schedules.get(change.job, Schedule()), state.own, state.schedule, state.next_ms, state.next_proof_ms
    )


def _pruned(face: FakeFace, change: Prune) -> PrunePlan:
    return samples.pruned(face.ask(ListSavepoints(change.job))[-1])


def _experiment_plan(face: FakeFace, change: StartExperiment) -> ExperimentPlan:
    s = _of(face, change.savepoint)
    forks = tuple(_restore(s.id, variant.name) for variant in change.variants)
    return ExperimentPlan(ExperimentId("ex-planned"), change.name, s.id, tuple(fork.job for fork in forks), forks)


def _read_plan(face: FakeFace, change: ReadState) -> ReadStatePlan:
    s = _of(face, change.savepoint)
    return ReadStatePlan(s.id, s.job, chosen(face.ask(ListStates(s.id)), change), change.limit)


def _point_job(face: FakeFace, named: str) -> JobName:
    job = named.partition("@")[0]
    return JobName(job) if job in face.runs else _of(face, named).job


def _comparing_plan(face: FakeFace, change: CompareState) -> StateDifferencePlan:
    saved = [SavepointId(named) if named in face.savepoints_by_id else None for named in (change.a, change.b)]
    return StateDifferencePlan(change.a, change.b, _point_job(face, change.b), *saved)


def _promotion(face: FakeFace, change: Promote) -> Any:
    parent = "post_engagement"
    versions = (face.runs[change.job][-1].version, face.runs[parent][-1].version) if parent in face.runs else (VERSION, VERSION)
    restore = _restore("sp-000000000002", parent, keeps=True) if change.state == "savepoint" else None
    return samples.promote_plan(change.job, parent, *versions, change.state, restore)


PLANS: Told = {
    RunScript: lambda face, it: RunPlan(
        JobName(it.name),
        RunId(RUN),
        VERSION,
        it.script,
        it.args,
        it.conf,
        it.master,
        it.python,
        f"/fake/jobs/{it.name}/output",
        place=at(it.home, JobName(it.name), RunId(RUN)) if it.home else "",
    ),
    Attach: lambda face, it: AttachPlan(JobName(it.name), VERSION, it.checkpoints),
    SetRestartStrategy: lambda face, it: RestartStrategyPlan(JobName(it.job), USUAL, restarting(USUAL, it.strategy, it.given())),
    SetResources: lambda face, it: ResourcesPlan(JobName(it.job), ALL, taking(ALL, it.memory_bytes, it.cpus), Means.SUPERVISOR),
    SetLimits: lambda face, it: LimitsPlan(JobName(it.job), JobLimits(), changed(JobLimits(), it.given())),
    SetSchedule: _schedule_plan,
    **alerting.PLANS,
    **homed.PLANS,
    **logged.PLANS,
    **replayed.PLANS,
    Prune: _pruned,
    RenameQuery: lambda face, it: RenamePlan(JobName(it.job), QueryName(it.query), given_query_name(it.to), "/fake/checkpoint", 2),
    Forget: lambda face, it: ForgetPlan(JobName(it.job), (RunId(RUN),), f"/fake/jobs/{it.job}", len(face.ask(ListSavepoints(it.job)))),
    Rescale: lambda face, it: samples.rescale_plan(it.job, it.partitions),
    Upgrade: lambda face, it: samples.upgrade_plan(it.job, _resumption(face, it.resume)),
    Stop: lambda face, it: StopPlan(JobName(it.job), RunId(RUN), it.at_once, it.savepoint),
    Resume: lambda face, it: _resumption(face, it),
    StopJobs: _stops,
    ResumeJobs: _resumes,
    Take: lambda face, it: TakePlan(JobName(it.job), {QUERY: it.batch or 9}, 12, 2_000_000, 4_096, "link", it.to),
    Annotate: _annotation,
    AskHoldings: lambda face, it: HoldingsPlan(_of(face, it.savepoint).id, len(_of(face, it.savepoint).queries)),
    Verify: lambda face, it: VerifyPlan(_of(face, it.savepoint).id, _of(face, it.savepoint).job, it.level, 12, 2_000_000),
    Check: lambda face, it: CheckPlan(_of(face, it.savepoint).id, _of(face, it.savepoint).job, VERSION, True),
    Diagnose: lambda face, it: DiagnosePlan(JobName(it.subject if it.subject in face.runs else ""), it.subject),
    ReadState: _read_plan,
    CompareState: _comparing_plan,
    ComparePlans: lambda face, it: PlanDifferencePlan(VERSION, VERSION, _point_job(face, it.b), True),
    TryCode: lambda face, it: TrialPlan(_of(face, it.savepoint).id, _of(face, it.savepoint).job, VERSION),
    LookUpKey: lambda face, it: LookUpKeyPlan(JobName(it.job), f"{QUERY} / 0 / default", 9),
    ReadInputRows: lambda face, it: InputRowsPlan(JobName(it.job), VERSION, FailedBatch(QUERY, 10)),
    Export: lambda face, it: samples.export_plan(_of(face, it.savepoint), it),
    Import: lambda face, it: ImportPlan(it.url, it.url.endswith(".tar.zst")),
    Dispose: _disposal,
    Fork: lambda face, it: _restore(_of(face, it.savepoint).id, it.name),
    StartExperiment: _experiment_plan,
    Promote: _promotion,
    Drop: lambda face, it: DropPlan(
        JobName(it.job), JobName("post_engagement"), ExperimentId("ex-1"), False, 0, (Step(Does.RECORD, "It is marked as dropped."),)
    ),
    Undrop: lambda face, it: UndropPlan(JobName(it.job), ExperimentId("ex-1"), False, GOES_ON),
    CancelOperation: lambda face, it: face.now[it.operation],
    StartExample: lambda face, it: ExamplePlan(tuple(map(JobName, EXAMPLE))),
    RebuildCatalog: lambda face, it: RebuildPlan(3, 2),
    CreateToken: lambda face, it: TokenPlan(it.name, it.for_role, samples.NOW_MS + (it.expires_in_ms or 0)),
    **backed_up.PLANS,
    PruneAudit: lambda face, it: PRUNED_AUDIT,
    RevokeToken: lambda face, it: ShownToken(it.token, Role.OPERATOR, samples.NOW_MS, samples.NOW_MS + 86_400_000, "command"),
}


def begun(job: str, from_savepoint: str = "", state: RunState = RunState.RUNNING) -> Any:
    """The run that begins."""
    return samples.run(RUN, job, VERSION, state, from_savepoint)


def taken(face: FakeFace, change: Take) -> Savepoint:
    """The savepoint that is taken."""
    batch = change.batch if isinstance(change.batch, int) else 9
    return samples.savepoint(SAVEPOINT, change.job, version=VERSION, run=RunId(RUN), batch=batch, label=change.label, to=change.to)


def works(face: FakeFace, kind: str, job: str, subject: str, result: str, outcome: Any = None) -> Operation:
    """An operation that has ended after four looks; each subject has one of each kind."""
    begun = samples.begun(f"op-{kind}-{subject.rpartition('/')[2]}", kind, job, subject)
    return face.under_way(*samples.course(begun, result), outcome=outcome)


def _verifies(face: FakeFace, change: Verify) -> Operation:
    s = _of(face, change.savepoint)
    kind = "prove" if change.level is Trust.PROVED else "verify"
    return works(face, kind, s.job, s.id, change.level, samples.verification(s, change.level))


def _exports(face: FakeFace, change: Export) -> Operation:
    s = _of(face, change.savepoint)
    return works(face, "export", s.job, s.id, change.url)


def _reads(face: FakeFace, change: ReadState) -> Operation:
    s = _of(face, change.savepoint)
    return works(face, "read", s.job, s.id, "reading")


def _cancels(face: FakeFace, change: CancelOperation) -> Operation:
    return face.under_way(samples.cancelled(face.now[change.operation]))


ANSWERS: Told = {
    RunScript: lambda face, it: begun(it.name, it.from_savepoint),
    Attach: lambda face, it: begun(it.name, state=RunState.WATCHED),
    SetRestartStrategy: lambda face, it: Job(JobName(it.job), samples.NOW_MS, restarts=restarting(USUAL, it.strategy, it.given())),
    SetResources: lambda face, it: Job(JobName(it.job), samples.NOW_MS, resources=taking(ALL, it.memory_bytes, it.cpus)),
    SetLimits: lambda face, it: Job(JobName(it.job), samples.NOW_MS, limits=changed(JobLimits(), it.given())),
    SetSchedule: _scheduled,
    **alerting.ANSWERS,
    **homed.ANSWERS,
    **logged.ANSWERS,
    **replayed.ANSWERS,
    Prune: _pruned,
    RenameQuery: lambda face, it: begun(it.job, state=RunState.WATCHED),
    Forget: lambda face, it: None,
    Stop: lambda face, it: samples.ended("op-stop", "cancel" if it.at_once else "stop", it.job, "" if it.at_once else SAVEPOINT),
    Resume: lambda face, it: begun(it.job, it.from_savepoint),
    StopJobs: _stopped,
    ResumeJobs: _resumed,
    Take: taken,
    Annotate: lambda face, it: _of(face, it.savepoint),
    AskHoldings: lambda face, it: _of(face, it.savepoint),
    Verify: _verifies,
    Check: lambda face, it: verdicts.of(_of(face, it.savepoint).id, VERSION, (COUNTED,)),
    Diagnose: lambda face, it: (samples.diagnosis(it.subject, f"/fake/{it.subject}"),),
    ReadState: _reads,
    LookUpKey: lambda face, it: samples.key_rows(it.job, it.key, it.since),
    ReadInputRows: lambda face, it: samples.input_rows(it.job, it.limit),
    TryCode: lambda face, it: samples.trial(_of(face, it.savepoint).id, VERSION),
    ComparePlans: lambda face, it: planned.difference(),
    CompareState: lambda face, it: works(face, "compare-state", _point_job(face, it.b), f"{it.a} {it.b}", differing.DIFFERENCE),
    Export: _exports,
    Import: lambda face, it: works(face, "import", "", it.url, SAVEPOINT),
    Dispose: _disposal,
    Fork: lambda face, it: begun(it.name, _of(face, it.savepoint).id),
    StartExperiment: lambda face, it: Experiment(
        ExperimentId("ex-100"), it.name, _of(face, it.savepoint).id, tuple(JobName(variant.name) for variant in it.variants), samples.NOW_MS
    ),
    Rescale: lambda face, it: samples.ended("op-rescale", "rescale", it.job, RUN),
    Upgrade: lambda face, it: samples.ended("op-upgrade", "upgrade", it.job, RUN),
    Promote: lambda face, it: samples.ended("op-promote", "promote", "post_engagement", RUN, it.job),
    Drop: lambda face, it: samples.ended("op-drop", "drop", it.job, subject=it.job),
    Undrop: lambda face, it: UndropPlan(JobName(it.job), ExperimentId("ex-1"), False, GOES_ON),
    CancelOperation: _cancels,
    StartExample: lambda face, it: tuple(begun(name) for name in EXAMPLE),
    RebuildCatalog: lambda face, it: {"jobs": 3, "savepoints": 2},
    CreateToken: lambda face, it: NewToken(it.name, it.for_role, samples.NOW_MS + (it.expires_in_ms or 0), "tm_secret"),
    CreateBackup: lambda face, it: works(face, "backup", "", it.url, backed_up.BACKUP.id),
    CheckBackup: lambda face, it: works(face, "check-backup", "", it.url, backed_up.BACKUP.id),
    RestoreBackup: lambda face, it: works(face, "restore-backup", "", it.url, backed_up.BACKUP.id),
    RevokeToken: lambda face, it: None,
    PruneAudit: lambda face, it: PRUNED_AUDIT,
}
