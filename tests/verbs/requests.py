"""A value of every declaration, with the command that it is on the shell: what is typed, sent and answered is tested on these."""

from __future__ import annotations

from typing import Any

from pipelines.domain.access import Role
from pipelines.domain.audit import Result
from pipelines.domain.bisections import Over
from pipelines.domain.conversions import StateStore
from pipelines.domain.decisions import StateFrom
from pipelines.domain.log_levels import Level
from pipelines.domain.logs import LogLevel
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.trust import Trust
from pipelines.verbs.acknowledge import Acknowledge
from pipelines.verbs.alerts import ShowAlerts
from pipelines.verbs.annotate import Annotate
from pipelines.verbs.attach import Attach
from pipelines.verbs.audit import ListAudit, PruneAudit, VerifyAudit
from pipelines.verbs.backups import CheckBackup, CreateBackup, ListBackups, RestoreBackup
from pipelines.verbs.bisect import Bisect, ListBisections, ShowBisection
from pipelines.verbs.channel import SetChannel
from pipelines.verbs.check import Check
from pipelines.verbs.connectors import ShowConnectors
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.dispose import Dispose
from pipelines.verbs.drop import Drop, Undrop
from pipelines.verbs.examples import ListExamples
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.experiments import Compare, Diff, ListExperiments, ShowExperiment, ShowIntervals, ShowTree, ShowVersion
from pipelines.verbs.export import Export
from pipelines.verbs.forget import Forget
from pipelines.verbs.fork import Fork, Variant
from pipelines.verbs.history import OpenHistory
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.homes import CheckHome, ListHomes, SetHome
from pipelines.verbs.import_ import Import
from pipelines.verbs.input_rows import ReadInputRows
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
from pipelines.verbs.log_level import SetLogLevel, ShowLogLevels
from pipelines.verbs.operations import CancelOperation, ListOperations, ReadAnswer, ShowOperation
from pipelines.verbs.plan_difference import ComparePlans
from pipelines.verbs.promote import Promote
from pipelines.verbs.prune import Prune
from pipelines.verbs.rename_query import RenameQuery
from pipelines.verbs.replay import ListReplays, RunReplay, ShowReplay
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.resources import SetResources
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.resume import Resume, ResumeJobs
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ReadVerification, ShowSavepoint
from pipelines.verbs.schedule import SetSchedule, ShowSchedule
from pipelines.verbs.set_alert import SetAlert
from pipelines.verbs.set_limits import SetLimits
from pipelines.verbs.silence import SilenceAlerts
from pipelines.verbs.state import ListStates, QueryState, ReadState, ShowStateSizes
from pipelines.verbs.state_difference import CompareState, QueryStateDifference, ShowStateDifference
from pipelines.verbs.state_key import LookUpKey
from pipelines.verbs.stop import Stop, StopJobs
from pipelines.verbs.system import ListEvents, RebuildCatalog, ShowAbout, ShowHealth, ShowSpace, StartExample
from pipelines.verbs.take import Take
from pipelines.verbs.tokens import CreateToken, ListTokens, RevokeToken
from pipelines.verbs.try_channel import TryChannel
from pipelines.verbs.try_code import TryCode
from pipelines.verbs.upgrade import Upgrade
from pipelines.verbs.verb import Asked
from pipelines.verbs.verify import Verify
from tests.samples import ROOT

JOB, STOPPED, SPLIT = "post_engagement", "post_events", "post_engagement_split"
LAST = "sp-000000000003"
FIRST, PROVED = "sp-000000000002", "sp-000000000007"
ARCHIVE = "s3://lake/archive/clicks.tar.zst"
AT_MS = 1_800_000_000_000
WINDOWS = ("22:00-06:00", "Sat,Sun 00:00-24:00")
QUOTED = "'it'\"'\"'s'"
TABLE: dict[str, Any] = {"query": "counts", "operator": 0, "store": "default"}
CHANGED: dict[str, Any] = {
    "code": "x = 1\n",
    "script": "a.py",
    "files": {"b.py": "x = 2\n", "c.csv": None},
    "args": ("--n", "2"),
    "conf": {"spark.x": "2"},
    "master": "yarn",
    "python": "/py",
    "new_queries": ("late",),
}
ATTACHED = Attach(
    name="far",
    checkpoints={"counts": "s3://lake/c"},
    sink="parquet",
    sink_path="s3://lake/out",
    script="a.py",
    code="x = 1\n",
    args=("--n", "1"),
    conf={"k": "v"},
    master="yarn",
    spark_version="4.1.0",
)
FORKED = Fork(savepoint=FIRST, name="b", code="x = 1\n", script="a.py", sinks={"*": "fresh", "counts": "continue"})
COMPARED = StartExperiment(
    "ads", FIRST, (Variant(name="b", code="x = 1\n", script="a.py"), Variant(name="c", args=("--fast",))), with_parent=True
)
RAN = RunScript(name="a", script="a.py", code="x = 1\n", args=("--x", "1"), conf={"k": "v"}, master="yarn")

TYPED: dict[str, tuple[Asked[Any], str]] = {
    "savepoint": (Take(JOB, batch=7, label="it's"), f"savepoint {JOB} --batch 7 --label {QUOTED}"),
    "check": (Check(savepoint=FIRST, code="x = 1\n", script="a.py"), f"check {FIRST} --code a.py"),
    "check as told": (Check(FIRST, map={"counts.0": "counts.1"}), f"check {FIRST} --map counts.0=counts.1"),
    "home": (Take(JOB, home="s3://lake/savepoints"), f"savepoint {JOB} --home s3://lake/savepoints"),
    "event": (Take(JOB, event_ms=AT_MS), f"savepoint {JOB} --event-time 2027-01-15T08:00:00+00:00"),
    "moment": (Take(JOB, at_ms=AT_MS + 7, to="/mnt/a"), f"savepoint {JOB} --at 2027-01-15T08:00:00.007+00:00 --to /mnt/a"),
    "stop": (Stop(JOB, savepoint=False), f"stop {JOB} --no-savepoint"),
    "cancel": (Stop(JOB, savepoint=False, at_once=True), f"cancel {JOB}"),
    "stop two": (StopJobs((JOB, SPLIT), label="x"), f"stop {JOB} {SPLIT} --label x"),
    "cancel two": (StopJobs((JOB, SPLIT), savepoint=False, at_once=True), f"cancel {JOB} {SPLIT}"),
    "resume two": (ResumeJobs((STOPPED, SPLIT), force=True), f"resume {STOPPED} {SPLIT} --force"),
    "operators": (ListOperators(JOB), f"operators {JOB}"),
    "queries": (ListQueries(), ""),
    "plan": (ListPlans(JOB), f"plan {JOB}"),
    "resume": (Resume(STOPPED, from_savepoint=FIRST), f"resume {STOPPED} --from {FIRST}"),
    "rewind": (Resume(STOPPED, batch=8), f"resume {STOPPED} --batch 8"),
    "rewind of several": (Resume(STOPPED, batch={"counts": 8, "late": 2}), f"resume {STOPPED} --batch counts=8 --batch late=2"),
    "resume with other code": (
        Resume(STOPPED, from_savepoint=FIRST, **CHANGED),
        f"resume {STOPPED} --code a.py --file b.py=b.py --file c.csv= --arg=--n --arg 2 --conf spark.x=2 --master yarn --runtime /py "
        f"--new-query late --from {FIRST}",
    ),
    "fork": (FORKED, f"fork {FIRST} --name b --code a.py --sink fresh --sink counts=continue"),
    "experiment": (COMPARED, f"experiment {FIRST} --name ads --with-parent --variant b=a.py --variant c="),
    "forget": (Forget(STOPPED), f"forget {STOPPED}"),
    "run": (RAN, "run a.py --name a --conf k=v --master yarn -- --x 1"),
    "attach": (
        ATTACHED,
        "attach far --checkpoint counts=s3://lake/c --code a.py --arg=--n --arg 1 --conf k=v --master yarn --sink parquet "
        "--sink-path s3://lake/out --spark-version 4.1.0",
    ),
    "attach two": (
        Attach(name="far", checkpoints={"counts": "s3://lake/c", "late": "s3://lake/l"}),
        "attach far --checkpoint counts=s3://lake/c --checkpoint late=s3://lake/l",
    ),
    "verify": (Verify(FIRST), f"verify {FIRST}"),
    "prove": (Verify(FIRST, Trust.PROVED), f"verify {FIRST} --level proved"),
    "diagnose": (Diagnose(JOB), f"verify {JOB}"),
    "export": (Export(FIRST, "s3://b/x.tar.zst", then_dispose=True), f"export {FIRST} s3://b/x.tar.zst --then-dispose"),
    "export as": (Export(FIRST, "/x", archive=True), f"export {FIRST} /x --archive"),
    "export not as": (Export(FIRST, "/x.tar.zst", archive=False), f"export {FIRST} /x.tar.zst --directory"),
    "import": (Import(ARCHIVE), f"import {ARCHIVE}"),
    "ask sources": (AskHoldings(FIRST), f"holdings {FIRST}"),
    "annotate": (Annotate(FIRST, label="it's"), f"annotate {FIRST} --label {QUOTED}"),
    "no date": (Annotate(FIRST, best_before_ms=0), f"annotate {FIRST} --best-before none"),
    "date": (
        Annotate(FIRST, note="a\nb", best_before_ms=AT_MS),
        f"annotate {FIRST} --note 'a\nb' --best-before 2027-01-15T08:00:00+00:00",
    ),
    "dispose": (Dispose((FIRST, PROVED)), f"dispose {FIRST} {PROVED}"),
    "states": (ListStates(FIRST), f"state {FIRST} --tables"),
    "read state": (ReadState(FIRST, limit=9, **TABLE), f"state {FIRST} --query counts --operator 0 --store default --read-rows 9"),
    "show state": (
        QueryState(PROVED, query="counts", sort="key.post", descending=True, filter="p 1", limit=9),
        f"state {PROVED} --query counts --sort=-key.post --filter 'p 1' --limit 9",
    ),
    "ask state": (
        QueryState(PROVED, operator=0, store="default", sql="SELECT 'x'"),
        f"state {PROVED} --operator 0 --store default --sql 'SELECT '\"'\"'x'\"'\"'' --limit 100",
    ),
    "compare state": (CompareState(FIRST, f"{JOB}@9", operator=0), f"state-difference {FIRST} {JOB}@9 --operator 0"),
    "difference of state": (ShowStateDifference("sd-000000000001"), "state-difference sd-000000000001"),
    "ask a difference of state": (
        QueryStateDifference("sd-000000000001", sort="key.post", descending=True, limit=7),
        "state-difference sd-000000000001 --sort=-key.post --limit 7",
    ),
    "try": (TryCode(FIRST, code="x = 1\n", script="a.py"), f"try {FIRST} --code a.py"),
    "try as told": (
        TryCode(FIRST, drop=("counts.1",), map={"counts.0.last": "counts.0.newest"}),
        f"try {FIRST} --drop counts.1 --map counts.0.last=counts.0.newest",
    ),
    "look up a key": (
        LookUpKey(JOB, {"post": "p1", "tag": None}, store="left", since=7),
        f"state-key {JOB} --key post=p1 --key tag --store left --since 7",
    ),
    "input rows": (ReadInputRows(JOB, limit=7), f"input-rows {JOB} --limit 7"),
    "operations": (ListOperations(running=True), "operations --running"),
    "cancel operation": (CancelOperation("op-exporting"), "cancel-operation op-exporting"),
    "upgrade": (
        Upgrade(JOB, probation_batches=9, drop=("counts.1",), **CHANGED),
        f"upgrade {JOB} --code a.py --file b.py=b.py --file c.csv= --arg=--n --arg 2 --conf spark.x=2 --master yarn --runtime /py "
        "--drop counts.1 --probation-batches 9 --new-query late",
    ),
    "rescale": (Rescale(JOB, 8), f"rescale {JOB} --partitions 8"),
    "promote": (Promote(SPLIT, StateFrom.SAVEPOINT), f"promote {SPLIT} --state savepoint"),
    "drop": (Drop(SPLIT, savepoint=False), f"drop {SPLIT} --no-savepoint"),
    "drop at once": (Drop(SPLIT, at_once=True), f"drop {SPLIT} --at-once"),
    "undrop": (Undrop(SPLIT), f"undrop {SPLIT}"),
    "restart strategy": (
        SetRestartStrategy(JOB, Strategy.FIXED_DELAY, attempts=3, delay_ms=10_000),
        f"restart-strategy {JOB} --strategy fixed-delay --attempts 3 --delay 10s",
    ),
    "exponential": (
        SetRestartStrategy(JOB, Strategy.EXPONENTIAL_DELAY, backoff_multiplier=2.0, jitter_factor=0.25),
        f"restart-strategy {JOB} --strategy exponential-delay --backoff-multiplier 2.0 --jitter-factor 0.25",
    ),
    "resources": (SetResources(JOB, memory_bytes=3 * 2**29, cpus=1.5), f"resources {JOB} --memory 1536m --cpus 1.5"),
    "no resources": (SetResources(JOB, memory_bytes=0, cpus=0.0), f"resources {JOB} --memory none --cpus 0.0"),
    "limits": (
        SetLimits(JOB, quiet_ms=5_400_000, lag_ms=0, restarts=5, growth_bytes=7),
        f"limits {JOB} --no-batch 1h30m --lag usual --restarts 5 --growth 7",
    ),
    "level of the log": (SetLogLevel(JOB, Level.DEBUG), f"log-level {JOB} debug"),
    "level of a logger": (SetLogLevel(JOB, Level.WARN, "org.apache.spark"), f"log-level {JOB} warn --logger org.apache.spark"),
    "levels of the log": (ShowLogLevels(JOB), f"log-level {JOB}"),
    "event log": (OpenHistory(JOB, "r-000000000001"), f"history {JOB} --run r-000000000001"),
    "schedule": (
        SetSchedule(JOB, cron="0 * * * *", zone="Europe/Berlin", blackouts=WINDOWS, keep=24, keep_ms=604_800_000),
        f"schedule {JOB} --cron '0 * * * *' --tz Europe/Berlin --blackout {WINDOWS[0]} --blackout '{WINDOWS[1]}' --keep 24 --keep-for 7d",
    ),
    "schedule every": (SetSchedule(JOB, every_ms=1_800_000, keep_bytes=9), f"schedule {JOB} --every 30m --keep-bytes 9"),
    "schedule that keeps all": (SetSchedule(JOB, keep_all=True), f"schedule {JOB} --keep-all"),
    "schedule of the workspace": (SetSchedule(off=True), "schedule --off"),
    "runs by themselves": (SetSchedule(JOB, run_at="0 3 * * *"), f"schedule {JOB} --run '0 3 * * *'"),
    "proofs by themselves": (SetSchedule(JOB, prove_at="0 3 * * *"), f"schedule {JOB} --prove-at '0 3 * * *'"),
    "limits of proofs": (
        SetSchedule(JOB, proof_limit_ms=3_600_000, proof_cpus=1),
        f"schedule {JOB} --proof-limit 1h --proof-processors 1",
    ),
    "schedule as usual": (SetSchedule(JOB, usual=True), f"schedule {JOB} --usual"),
    "what is scheduled": (ShowSchedule(JOB), f"schedule {JOB}"),
    "alerts": (ShowAlerts(JOB), f"alerts {JOB}"),
    "alert": (
        SetAlert(
            "lag", JOB, "event_time_lag_seconds > 5m", "1m", for_ms=300_000, clear_for_ms=60_000, repeat_ms=0, channels=("oncall", "b")
        ),
        f"alert set lag --job {JOB} --when 'event_time_lag_seconds > 5m' --clear 1m --for 5m --clear-for 1m --repeat usual"
        " --channel oncall --channel b",
    ),
    "alert off": (SetAlert("failed", off=True), "alert set failed --off"),
    "alert removed": (SetAlert("failed", remove=True), "alert set failed --remove"),
    "channel": (SetChannel("oncall", env="TIDEMARK_ONCALL_URL"), "alert channel oncall --env TIDEMARK_ONCALL_URL"),
    "channel in a file": (SetChannel("mail", file="/run/secrets/mail"), "alert channel mail --file /run/secrets/mail"),
    "test of a channel": (TryChannel("oncall"), "alert test oncall"),
    "acknowledged": (Acknowledge(JOB, "lag"), f"alert acknowledge {JOB} lag"),
    "silence": (SilenceAlerts(JOB, "lag", for_ms=7_200_000), f"alert silence {JOB} --alert lag --for 2h"),
    "silence ends": (SilenceAlerts(end=True), "alert silence --end"),
    "prune": (Prune(JOB), f"prune {JOB}"),
    "prune all": (Prune(), "prune"),
    "rename-query": (RenameQuery(JOB, "query-0", "counts"), f"rename-query {JOB} query-0 counts"),
    "differences": (Diff(FIRST, JOB), f"diff {FIRST} {JOB}"),
    "plan differences": (ComparePlans(FIRST, JOB), f"diff {FIRST} {JOB} --plans"),
    "space": (ShowSpace(), "savepoints --sizes"),
    "space of a job": (ShowSpace("clicks"), "savepoints clicks --sizes"),
    "list": (ListJobs(), "list"),
    "job": (ShowJob(JOB), f"show {JOB}"),
    "lease": (ShowLease(JOB), f"show {JOB}"),
    "log": (ReadLog(JOB, run="r-1"), f"logs {JOB} --run r-1"),
    "search": (
        SearchLog(JOB, text="line t", level=LogLevel.WARNING, from_ms=AT_MS, limit=5),
        f"search-log {JOB} --text 'line t' --level warning --since 2027-01-15T08:00:00+00:00 --limit 5",
    ),
    "retained": (ListRetained(JOB), f"batches {JOB} --retained"),
    "runs": (ListRuns(JOB, limit=20), f"runs {JOB} --limit 20"),
    "batches": (ListBatches(JOB, limit=7), f"batches {JOB} --limit 7"),
    "series": (ShowSeries(JOB, from_ms=1, to_ms=2), ""),
    "state sizes": (ShowStateSizes(JOB, savepoints=3), ""),
    "event series": (ShowEventSeries(JOB, points=9), ""),
    "events": (
        ListEvents(JOB, kind="run.failed", actor="page", from_ms=AT_MS, before="7-0123abcd"),
        f"events {JOB} --kind run.failed --by page --since 2027-01-15T08:00:00+00:00 --before 7-0123abcd",
    ),
    "operation": (ShowOperation("op-verified"), ""),
    "answer": (ReadAnswer("op-1"), ""),
    "version": (ShowVersion("v-1"), "versions v-1"),
    "tree": (ShowTree(), "versions"),
    "savepoints": (ListSavepoints(STOPPED), f"savepoints {STOPPED}"),
    "one savepoint": (ShowSavepoint(f"{ROOT}/{FIRST}"), f"show {ROOT}/{FIRST}"),
    "manifest": (ReadManifest(FIRST), ""),
    "verification": (ReadVerification(PROVED), ""),
    "experiments": (ListExperiments(), "experiments"),
    "replay": (
        RunReplay(savepoint=FIRST, end=LAST, code="x = 1\n", script="a.py", keep=True),
        f"replay {FIRST} {LAST} --code a.py --keep",
    ),
    "replays": (ListReplays(), "replays"),
    "one replay": (ShowReplay("rp-000000000001"), "replays rp-000000000001"),
    "bisect": (
        Bisect(job=JOB, good=FIRST, bad=LAST, sql="SELECT 1", over=Over.STATE, operator=0, examples=5),
        f"bisect {JOB} --good {FIRST} --bad {LAST} --sql 'SELECT 1' --over state --operator 0 --examples 5",
    ),
    "bisect by a script": (
        Bisect(job=JOB, good=FIRST, bad=LAST, script="x = 1\n"),
        f"bisect {JOB} --good {FIRST} --bad {LAST} --script script.txt",
    ),
    "bisections": (ListBisections(), "bisections"),
    "one bisection": (ShowBisection("bi-000000000001"), "bisections bi-000000000001"),
    "one experiment": (ShowExperiment("ex-1"), "experiments --json"),
    "compare": (Compare(JOB, STOPPED, keys=("post", "day")), f"compare {JOB} {STOPPED} --key post --key day"),
    "intervals": (ShowIntervals(JOB, STOPPED), ""),
    "health": (ShowHealth(60_000), ""),
    "about": (ShowAbout(), "about"),
    "connectors": (
        ShowConnectors("/opt/41/bin/python", conf={"spark.jars": "/a.jar"}),
        "connectors --runtime /opt/41/bin/python --conf spark.jars=/a.jar",
    ),
    "examples": (ListExamples(), "examples"),
    "example": (StartExample(), "example"),
    "an example's input": (StartExample("card_fraud", True), "example card_fraud --inputs-only"),
    "rebuild": (RebuildCatalog(), "catalog rebuild"),
    "homes": (ListHomes(), "home list"),
    "home of a job": (SetHome("s3://b/f", JOB), f"home set s3://b/f --job {JOB}"),
    "home of the workspace": (SetHome("workspace"), "home set workspace"),
    "home of new jobs": (SetHome("s3://b/f", jobs=True), "home set s3://b/f --jobs"),
    "check of a home": (CheckHome("s3://b/f"), "home check s3://b/f"),
    "a token": (CreateToken("ci", Role.OPERATOR, 30 * 86_400_000), "token create ci --role operator --expires 30d"),
    "tokens": (ListTokens(), "tokens"),
    "back up": (CreateBackup("s3://b/tidemark"), "backup create s3://b/tidemark"),
    "check a backup": (CheckBackup("s3://b/tidemark", "b-1"), "backup check s3://b/tidemark --backup b-1"),
    "restore a backup": (RestoreBackup("s3://b/tidemark", "b-1"), "backup restore s3://b/tidemark --backup b-1"),
    "backups": (ListBackups("s3://b/tidemark"), "backups s3://b/tidemark"),
    "audit": (ListAudit(limit=9, result=Result.REFUSED, actor="ci"), "audit list --limit 9 --result refused --by ci"),
    "audit verify": (VerifyAudit("ab"), "audit verify --last ab"),
    "audit prune": (PruneAudit(5_000), "audit prune --through 5000"),
    "a token no more": (RevokeToken("ci"), "token revoke ci"),
}
"""At least one of every declaration. `Undrop`, `ReadAnswer` and `ShowVersion` name what is only there once something was done."""
FURTHER: dict[str, Asked[Any]] = {
    "health as ever": ShowHealth(),
    "job that failed": ShowJob(SPLIT),
    "run in full": RunScript(
        name="new",
        script="new.py",
        code="print('é')\n",
        args=("--x", "{output}"),
        conf={"a": "b"},
        master="local[1]",
        python="/py",
        source="/src/new.py",
        from_savepoint=FIRST,
        new_queries=("q",),
    ),
    "stop with a label": Stop(JOB, label="x"),
    "resume where it stopped": Resume(STOPPED),
    "a piece of a log": ReadLog(JOB, "r-9", 3, 5),
    "operators of none": ListOperators(STOPPED),
    "plan of one query": ListPlans(JOB, "counts"),
    "plan of none": ListPlans(STOPPED),
    "batches as ever": ListBatches(JOB),
    "batches, the longest first": ListBatches(JOB, sort="-batch_ms"),
    "events, the oldest first": ListEvents(sort="at_ms"),
    "audit, the oldest first": ListAudit(sort="at_ms"),
    "series of one point": ShowSeries(JOB, 5, 9, 1),
    "events as ever": ListEvents(),
    "events by all": ListEvents("", 200, "runs", "split", "command", 1, 10**13),
    "operations as ever": ListOperations(),
    "every savepoint": ListSavepoints(),
    "savepoint by id": ShowSavepoint(FIRST),
    "manifest by path": ReadManifest(f"{ROOT}/{FIRST}"),
    "annotate in full": Annotate(FIRST, "ü", "a\nb", 5),
    "annotate by path": Annotate(f"{ROOT}/{FIRST}", best_before_ms=0),
    "no verification": ReadVerification(FIRST),
    "diagnose by path": Diagnose(f"{ROOT}/{FIRST}"),
    "diagnose a checkpoint": Diagnose("/data/ü/checkpoint"),
    "states by path": ListStates(f"{ROOT}/{FIRST}"),
    "read as ever": ReadState(savepoint=FIRST),
    "a page of state": QueryState(savepoint=PROVED, sort="key.post", descending=True, filter="p1", offset=1, limit=3),
    "state by SQL": QueryState(savepoint=PROVED, sql='SELECT key.window.start AS "ü", count(*) FROM state GROUP BY 1 ORDER BY 1', **TABLE),
    "dispose of none": Dispose((FIRST, "sp-none")),
    "fork in full": Fork(savepoint=FIRST, name="c", sinks={"*": "fresh"}, **CHANGED),
    "fork with other partitions": Fork(savepoint=FIRST, name="c", partitions=8),
    "fork to another store": Fork(savepoint=FIRST, name="c", store=StateStore.ROCKSDB),
    "fork with state by columns": Fork(savepoint=FIRST, name="c", migrate={"columns": ""}),
    "fork without a part of the state": Fork(savepoint=FIRST, name="c", drop=("counts.1", "other"), map={"counts.2": "counts.1"}),
    "resume without a part of the state": Resume(STOPPED, migrate={"columns": ""}, drop=("counts.1",), map={"counts.0": "counts.0"}),
    "fork in lock-step": Fork(savepoint=FIRST, name="c", lock_step=True),
    "what if": Fork(savepoint=FIRST, name="c", until="now"),
    "what if until then": Fork(savepoint=FIRST, name="c", until_ms=AT_MS),
    "experiment in lock-step": StartExperiment("e", FIRST, (Variant(name="c"), Variant(name="d")), lock_step=True),
    "fork by path": Fork(savepoint=f"{ROOT}/{FIRST}", name="c"),
    "experiment in full": StartExperiment("e", FIRST, (Variant(name="c", sinks={"*": "fresh"}, **CHANGED), Variant(name="d")), True),
    "compare in full": Compare(JOB, STOPPED, "q", ("k",), 3),
    "intervals of a query": ShowIntervals(JOB, STOPPED, "counts"),
    "upgrade as an earlier version": Upgrade(JOB, version="v-1"),
    "promote as ever": Promote(SPLIT),
    "promote without a part of the state": Promote(SPLIT, migrate={"columns": ""}, drop=("counts.1",), map={"counts.2": "counts.1"}),
    "drop as ever": Drop(SPLIT),
}
"""More of them, with other fields."""
EVERY: dict[str, Asked[Any]] = {**{name: asked for name, (asked, _) in TYPED.items()}, **FURTHER}
