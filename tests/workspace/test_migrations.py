"""Forks whose state is migrated for their code, as the workspace makes them: on a copy, and where that fails nothing is left of them.

`test_rescales.py` has a server that is killed while state is rewritten, `tests/long/test_migrations.py` one that migrates, migrations that
fail, and a job that goes on with an operator more and without it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import verdicts
from pipelines.domain.errors import Conflict, Incompatible, Invalid, Unsupported
from pipelines.domain.migrations import COLUMNS, Becomes
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.verdicts import OperatorPair, OperatorPlan, Outcome, Part
from pipelines.verbs.check import Check
from pipelines.verbs.diagnose import Diagnose
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListBatches, ListJobs, ShowJob
from pipelines.verbs.promote import Promote
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ReadManifest, ShowSavepoint
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.try_code import TrialPlan, TryCode
from tests.contracts.examples import MIGRATION
from tests.waiting import until
from tests.workspace.conftest import House, job
from tests.workspace.serving import Server, serving
from tests.workspace.test_checks import keep, saved
from tests.workspace.test_rescales import KEYS, put
from tests.workspace.test_runtimes_exact import rows_of
from tests.workspace.written import await_row_count

BY_COLUMNS = {COLUMNS: ""}
FUNCTION = "def f(rows, schema):\n    return rows\n"
CODE = """
import sys
from pyspark.sql import SparkSession, functions as F
into, out = sys.argv[1:3]
spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("k STRING, ts TIMESTAMP, n INT").option("maxFilesPerTrigger", 1).json(into).withWatermark("ts", "1 minute")
counted = events.groupBy(F.window("ts", "6 minutes"), "k").agg(F.max("n").alias("most"), F.sum("n").alias("s"), F.count("n").alias("c"))
rows = counted.selectExpr("minute(window.start) AS at", "*").drop("window")
rows.writeStream.queryName("counted").option("path", f"{out}/counted").start()
spark.streams.awaitAnyTermination()
"""
OLD = 'F.max("n").alias("most"), F.sum("n").alias("s"), F.count("n").alias("c")'
FEWER = CODE.replace(OLD, 'F.count("n").alias("c"), F.max(F.col("n").cast("long")).alias("most")')
ONCE = FEWER.replace("counted = events.groupBy", 'counted = events.dropDuplicates(["k", "ts", "n"]).groupBy')
DEDUPE = "counted.1"
AVERAGE = CODE.replace(OLD, 'F.avg("n").alias("mean")')
FIRST, LAST = 4, 10
"""Files before the savepoint, when no window is over yet, and at the end, when all but the last one are."""
ONCE_UNTIL, END = 16, 20
"""Files up to which rows count once that come twice, and at the end of all."""


@pytest.mark.parametrize("golden", ["stateless", "limit"])
def test_what_keeps_no_aggregation_is_refused_before_anything_is_done(house: House, golden: str) -> None:
    house.ran(golden=golden)
    fork = Fork(do(house.face, Take("a")).id, name="b", migrate={"f": FUNCTION})
    planned = house.face.plan(fork)
    assert planned.refusal is not None and planned.refusal.code == "migrate.none"
    with pytest.raises(Unsupported):
        do(house.face, fork)
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"]


@pytest.mark.parametrize(
    ("migrate", "code", "message"),
    [
        ({"f": "def f(:\n"}, "migrate.syntax", "line 1"),
        ({"f": ""}, "migrate.function", "no function f"),
        ({"g": FUNCTION}, "migrate.function", "no function g"),
        ({"a b": FUNCTION}, "migrate.function", "no name of a function"),
        ({}, "migrate.function", "not 0"),
        ({"f": FUNCTION, COLUMNS: ""}, "migrate.function", "not 2"),
    ],
)
def test_a_migration_that_cannot_be_read_is_refused(house: House, migrate: dict[str, str], code: str, message: str) -> None:
    house.ran(golden="hdfs")
    savepoint = do(house.face, Take("a"))
    with pytest.raises(Invalid, match=message) as refused:
        house.face.plan(Fork(savepoint.id, name="b", migrate=migrate))
    assert refused.value.code == code


def test_the_plan_says_what_is_migrated_and_needs_rewriting_is_no_refusal_then(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    fork = Fork(savepoint.id, name="b", code="print(1)\n", migrate=BY_COLUMNS, partitions=4)
    plan = house.face.plan(fork)
    assert plan.migration is not None and plan.refusal is None and plan.rewrite is not None
    assert [operator.name for operator in plan.migration.operators] == ["stateStoreSave"] and plan.migration.bytes > 0
    part = Part("counts", 0, "stateStoreSave", Outcome.NEEDS_REWRITING, ("default value: sum before, sum and count now",))
    keep(house, savepoint, "print(1)\n", verdicts.of(savepoint.id, plan.version or savepoint.version, (part,)))
    assert house.face.plan(fork).refusal is None and house.face.plan(fork).verdict is not None
    unneeded = house.face.plan(Fork(savepoint.id, name="b", migrate=BY_COLUMNS)).refusal
    assert unneeded is not None and unneeded.code == "migrate.fits"


def test_what_is_dropped_has_to_be_accepted_by_its_name(house: House, tmp_path: Path) -> None:
    """`--force` begins it all the same."""
    savepoint = saved(house, tmp_path)
    fork = Fork(savepoint.id, name="b", code="print(1)\n")
    plan = house.face.plan(fork)
    part = Part("counts", 0, "stateStoreSave", Outcome.PARTLY_KEPT, ("No such operator.",), dropped=("counts.0",))
    keep(house, savepoint, "print(1)\n", verdicts.of(savepoint.id, plan.version or savepoint.version, (part,)))
    refused = house.face.plan(fork).refusal
    assert refused is not None and (refused.code, refused.hint) == ("code.drops", "Accept it by its name: --drop counts.0.")
    with pytest.raises(Incompatible):
        do(house.face, fork)
    accepted = house.face.plan(replace(fork, drop=("counts.0",)))
    assert accepted.refusal is None and accepted.migration is not None and accepted.migration.drop == ("counts.0",)
    assert house.face.plan(replace(fork, force=True)).refusal is None
    mapped = house.face.plan(replace(fork, map={"counts.0": "counts.0"}))
    assert mapped.refusal is None and mapped.migration is not None, "what goes on as another one is not dropped"
    assert house.face.plan(replace(fork, force=True, drop=("counts.sources.0",))).refusal == refused, "migrated it is not, forced or not"
    with pytest.raises(Invalid, match="'0' is no operator"):
        house.face.plan(replace(fork, map={"0": "1"}))


@pytest.mark.parametrize(
    ("name", "code"),
    [("counts.1", "unknown"), ("other", "unknown"), ("counts.0.last", "unknown"), ("counts.sources.1", "unknown"), ("counts", "kept")],
)
def test_what_is_to_be_dropped_and_is_not_is_refused_by_the_plan(house: House, tmp_path: Path, name: str, code: str) -> None:
    """As carrying it out refuses it, by every verb, forced or not; the hint says what there is to be dropped."""
    savepoint = saved(house, tmp_path)
    fork = Fork(savepoint.id, name="b", code="print(1)\n", drop=(name,))
    part = Part("counts", 0, "stateStoreSave", Outcome.CHANGED_MEANING, ("sum before, count now",))
    pair = OperatorPair("counts", OperatorPlan(0, "stateStoreSave"), OperatorPlan(0, "stateStoreSave"))
    version = house.face.plan(replace(fork, drop=())).version or savepoint.version
    keep(house, savepoint, "print(1)\n", replace(verdicts.of(savepoint.id, version, (part,)), operators=(pair,)))
    resume = Resume("a", code=fork.code, drop=(name,))
    tried = TryCode(savepoint.id, code=fork.code, drop=(name,))
    for change in (fork, replace(fork, force=True), resume, replace(resume, from_savepoint=savepoint.id), tried):
        with pytest.raises(Invalid) as refused:
            planned = house.face.plan(change)
            assert not isinstance(planned, TrialPlan) and planned.refusal is not None
            raise planned.refusal.error
        assert (refused.value.code, "counts.0" in refused.value.hint) == (f"drop.{code}", True)
        with pytest.raises(Invalid) as failed:
            do(house.face, change)
        assert failed.value.as_json() == refused.value.as_json()


def test_a_state_variable_that_is_not_there_cannot_be_dropped(house: House) -> None:
    house.ran(golden="transform")
    savepoint = do(house.face, Take("a"))
    with pytest.raises(Invalid, match=r"no counts\.0\.nothing") as refused:
        house.face.plan(Fork(savepoint.id, name="b", drop=("counts.0.nothing",)))
    variables = [name for name in refused.value.hint.removesuffix(".").split(", ") if name.count(".") == 2 and ".sources." not in name]
    assert variables
    assert house.face.plan(Fork(savepoint.id, name="b", drop=(variables[0],))).migration is not None


def test_a_trial_is_planned_with_what_the_fork_would_do_with_the_state(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    told = {"counts.0": "counts.0"}
    fork = house.face.plan(Fork(savepoint.id, name="b", code="print(1)\n", map=told))
    tried = house.face.plan(TryCode(savepoint.id, code="print(1)\n", map=told))
    assert tried.migration == fork.migration is not None
    assert house.face.plan(TryCode(savepoint.id, code="print(1)\n")).migration is None
    with pytest.raises(Invalid, match="'0' is no operator"):
        house.face.plan(TryCode(savepoint.id, code="print(1)\n", map={"0": "1"}))


@pytest.fixture
def server(kept_jvms: None, tmp_path: Path) -> Any:
    with serving(tmp_path / "a workspace") as running:
        yield running


@pytest.mark.spark
@pytest.mark.timeout(1500)
def test_forks_of_changed_code_go_on_with_migrated_state(server: Server, tmp_path: Path) -> None:
    """By columns and by a function, on Spark's default store: the outputs are those of runs of the changed code from the start. A job whose
    part is done is stopped: it would go on with what is there for others."""
    savepoint = begun(server, tmp_path / "in")
    was = saved_files(server, savepoint)
    verdict = do(server.face, Check(savepoint.id, code=FEWER))
    assert verdict.outcome is Outcome.NEEDS_REWRITING and "--migrate columns: count(n) is kept as it is, " in verdict.parts[0].hint
    assert server.face.plan(Fork(savepoint.id, name="b", code=FEWER)).refusal is not None
    go_on(server, savepoint, tmp_path / "in")
    told(server)
    assert saved_files(server, savepoint) == was, "not a byte of the savepoint is another"
    for name in ("b", "c"):
        assert all(diagnosis.sound for diagnosis in do(server.face, Diagnose(name)))
    promoted(server)


def promoted(server: Server) -> None:
    """`a` goes on with the code of `b`, on a copy of its own state that is migrated for it."""
    unmigrated = server.face.plan(Promote("b")).refusal
    assert unmigrated is not None and unmigrated.code == "code.cannot_start" and "--migrate columns" in unmigrated.hint
    do(server.face, Promote("b", migrate=BY_COLUMNS))
    until(lambda: any(row.batch >= LAST - 1 for row in server.face.ask(ListBatches("a"))), 120)
    assert server.newest("a").version == server.newest("b").version
    assert [event.kind for event in server.face.ask(ListEvents("a"))].count("job.migrated") == 1


def go_on(server: Server, savepoint: Savepoint, into: Path) -> None:
    """Two forks, `b` migrated by columns and `c` by a function, to the end of what there is."""
    put(into, FIRST, LAST - FIRST)
    do(server.face, Fork(savepoint.id, name="b", code=FEWER, migrate=BY_COLUMNS))
    do(server.face, Fork(savepoint.id, name="c", code=AVERAGE, migrate={"to_average": MIGRATION}))
    windows = [(start, key) for start in range(0, 2 * LAST - 8, 6) for key in range(KEYS)]
    values = {(start, key): [minute + key for minute in range(start, start + 6, 2)] * 2 for start, key in windows}
    fewer = sorted((start, f"k{key}", 6, max(values[start, key])) for start, key in windows)
    average = sorted((start, f"k{key}", sum(values[start, key]) / 6) for start, key in windows)
    for name, expected in (("b", fewer), ("c", average)):
        await_row_count(sink(server, name), len(expected))
        assert rows(server, name) == expected
        server.stop(name, savepoint=False)


def change_operators(server: Server, into: Path) -> None:
    """`b` goes on with an operator more, and then without it: what is dropped has to be accepted by its name."""
    do(server.face, Resume("b", code=ONCE, migrate=BY_COLUMNS))
    put(into, LAST, ONCE_UNTIL - LAST)
    windows = {0: 6, 6: 6, 12: 6, 18: 4, 24: 3, 30: 5}
    expected = sorted((start, f"k{key}", count, start + 4 + key) for start, count in windows.items() for key in range(KEYS))
    until(lambda: rows(server, "b") == [row for row in expected if row[0] < 24], 240)
    savepoint = server.face.ask(ShowSavepoint(server.stop("b", savepoint=True)))
    verdict = do(server.face, Check(savepoint.id, code=FEWER))
    assert verdict.dropped == (DEDUPE,) and Outcome.PARTLY_KEPT in {part.outcome for part in verdict.parts}
    plans = (server.face.plan(Resume("b", code=FEWER)), server.face.plan(Resume("b", code=FEWER, migrate=BY_COLUMNS)))
    for plan in (*plans, server.face.plan(Fork(savepoint.id, name="d", code=FEWER))):
        assert plan.refusal is not None and plan.refusal.code == "code.drops" and plan.refusal.hint.endswith(f"--drop {DEDUPE}.")
    with pytest.raises(Invalid, match=r"counted is not dropped") as kept:
        do(server.face, Resume("b", code=FEWER, drop=("counted", DEDUPE)))
    assert kept.value.code == "drop.kept" and server.newest("b").state is RunState.STOPPED
    do(server.face, Resume("b", code=FEWER, drop=(DEDUPE,)))
    put(into, ONCE_UNTIL, END - ONCE_UNTIL)
    until(lambda: rows(server, "b") == expected, 240)
    server.stop("b", savepoint=False)
    messages = [event.message for event in server.face.ask(ListEvents("b")) if event.kind == "job.migrated"]
    assert "counted, operator 1 (deduplication) was dropped" in messages[0] and "(deduplication) begins empty" in messages[1]


def saved_files(server: Server, savepoint: Savepoint) -> dict[str, bytes]:
    """What the manifest names: the server writes beside it (its seal, what its sources hold) when it comes to that."""
    manifest = server.face.ask(ReadManifest(savepoint.id))
    return {file.path: (Path(savepoint.path) / file.path).read_bytes() for file in manifest.files}


def begun(server: Server, into: Path, code: str = CODE) -> Savepoint:
    into.mkdir()
    put(into, 0, FIRST)
    conf = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
    do(server.face, RunScript(name="a", script="job.py", code=code, args=(str(into), "{output}"), conf=conf, master="local[2]"))
    until(lambda: any(row.batch >= FIRST - 1 for row in server.face.ask(ListBatches("a"))))
    return server.face.ask(ShowSavepoint(server.stop("a", savepoint=True)))


def refused(server: Server, savepoint: Savepoint) -> None:
    """Functions that fail, code that does not run on what they make, and code that does not need them: nothing is left of the forks."""
    raising = {"f": "def f(rows, schema):\n    return rows.select('nothing')\n"}
    with pytest.raises(Incompatible, match="f failed in line 2: AnalysisException") as failed:
        do(server.face, Fork(savepoint.id, name="b", code=FEWER, migrate=raising))
    assert failed.value.code == "migrate.rows"
    with pytest.raises(Unsupported, match="no aggregate of the code before is computed in the same way") as unlike:
        do(server.face, Fork(savepoint.id, name="b", code=AVERAGE, migrate=BY_COLUMNS))
    assert unlike.value.code == "migrate.columns"
    with pytest.raises(Conflict) as needless:
        do(server.face, Fork(savepoint.id, name="b", code=f"{CODE}\n", migrate=BY_COLUMNS))
    assert needless.value.code == "migrate.fits"
    assert [summary.job.name for summary in server.face.ask(ListJobs())] == ["a"] and not server.face.layout.job(job("b")).exists()
    assert not list(server.face.layout.sandbox.glob("op-*"))


def rows(server: Server, name: str) -> list[tuple[Any, ...]]:
    return sorted(rows_of(sink(server, name)))


def sink(server: Server, name: str) -> Path:
    return server.face.layout.output(job(name)) / "counted"


def told(server: Server) -> None:
    """What was done stands in the job's document and among its events."""
    (columns, function) = (server.face.ask(ShowJob(name)).summary.job.origin for name in ("b", "c"))
    assert columns is not None and columns.migration is not None and columns.migration.by == COLUMNS
    (done,) = columns.migration.operators
    assert done.rows_before == done.rows_after > 0 and done.after == "count long, max long"
    assert [(aggregate.becomes, aggregate.text) for aggregate in done.aggregates] == [
        (Becomes.KEPT, "count(n)"),
        (Becomes.WIDENED, "max(CAST(n AS BIGINT))"),
        (Becomes.DROPPED, "sum(n)"),
    ]
    assert function is not None and function.migration is not None
    assert (function.migration.by, len(function.migration.digest)) == ("to_average", 64)
    assert all(of.migration.rehearsal.startswith("Rehearsed: batch ") for of in (columns, function) if of.migration)
    (event,) = [event for event in server.face.ask(ListEvents("b")) if event.kind == "job.migrated"]
    assert "dropped sum(n)" in event.message
