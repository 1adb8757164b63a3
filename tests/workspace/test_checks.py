"""Checks of the workspace: what becomes of a savepoint's state under other code, planned by real Spark, and what a fork makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain import verdicts
from pipelines.domain.errors import Incompatible
from pipelines.domain.ids import JobName
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.verdicts import Outcome, Part
from pipelines.verbs.check import Check
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.workspace import verdicts as known
from tests.savepoint.golden import lay_checkpoint, lay_output
from tests.workspace.conftest import House, query_line

CODE = """
import sys
from pyspark.sql import SparkSession, functions as F
import rates
spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("post STRING, ts TIMESTAMP, n INT").json(sys.argv[1]).withWatermark("ts", "5 minutes")
counted = events.groupBy(F.window("ts", "10 minutes"), "post").agg(F.sum("n").alias("total"))
query = counted.writeStream.queryName("counts").format("parquet").start(sys.argv[2])
query.awaitTermination()
spark.stop()
"""
RATES = {"rates.py": "RATE = 1\n"}


def saved(house: House, tmp_path: Path) -> Savepoint:
    """A savepoint of that code on a golden checkpoint, which the same query wrote."""
    (tmp_path / "input").mkdir(exist_ok=True)
    run = do(house.face, RunScript(name="a", script="job.py", code=CODE, args=(str(tmp_path / "input"), "{output}/counts"), files=RATES))
    checkpoint, sink = Path(run.checkpoints) / "counts", house.face.layout.output(JobName("a")) / "counts"
    lay_checkpoint("rocksdb_format2", checkpoint)
    lay_output("rocksdb_format2", sink)
    house.append(run, "queries.jsonl", query_line(str(checkpoint), str(sink)))
    house.see(run, RunState.STOPPED)
    return do(house.face, Take("a"))


def files(folder: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_changed_code_is_judged_in_the_sandbox_and_the_forks_plan_says_it(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    before = files(savepoint.path)
    counts = CODE.replace('F.sum("n")', 'F.count("n")')
    verdict = do(house.face, Check(savepoint.id, code=counts))
    assert verdict.outcome is Outcome.CHANGED_MEANING, verdict
    assert [(part.operator, part.name) for part in verdict.parts] == [(0, "stateStoreSave")]
    assert verdict.parts[0].reasons == ("computes: sum(n) AS total before, count(n) AS total now",)
    assert verdict.spark_version == savepoint.spark_version
    assert files(savepoint.path) == before and not any(house.face.layout.sandbox.iterdir())
    assert house.face.plan(Fork(savepoint.id, name="b", code=counts)).verdict == verdict
    assert not house.face.plan(Check(savepoint.id, code=counts)).starts_spark
    assert do(house.face, Check(savepoint.id, code=f"# a comment\n{CODE}")).outcome is Outcome.SAME


def test_a_savepoints_own_version_is_the_same_without_any_spark(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    assert not house.face.plan(Check(savepoint.id)).starts_spark
    assert do(house.face, Check(savepoint.id, code=CODE)).outcome is Outcome.SAME
    verdict = house.face.plan(Fork(savepoint.id, name="b")).verdict
    assert verdict is not None and verdict.parts[0].reasons == (verdicts.UNCHANGED,)
    assert house.face.plan(Fork(savepoint.id, name="b", code="print(1)\n")).verdict is None


def test_a_fork_whose_code_is_known_not_to_start_is_refused_unless_it_is_forced(house: House, tmp_path: Path) -> None:
    savepoint = saved(house, tmp_path)
    fork = Fork(savepoint.id, name="b", code="print(1)\n")
    plan = house.face.plan(Check(savepoint.id, code=fork.code))
    part = Part("counts", 0, "stateStoreSave", Outcome.NEEDS_REWRITING, ("default value: sum before, sum and count now",), "Keep it.")
    known.keep(house.face.context, verdicts.of(savepoint.id, plan.version, (part,)))
    refusal = house.face.plan(fork).refusal
    assert refusal is not None and (refusal.code, refusal.hint) == ("code.cannot_start", "Keep it. To begin it all the same: --force.")
    with pytest.raises(Incompatible, match="sum and count now"):
        do(house.face, fork)
    forced = Fork(savepoint.id, name="b", code=fork.code, force=True)
    assert house.face.plan(forced).refusal is None
    assert do(house.face, forced).job == "b"
