"""Plans of two points' code, compared operator by operator: planned by real Spark, judged as a verdict is, kept until what they rest on
changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.contracts import Keeps
from pipelines.domain.errors import Incompatible, NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.installed import Installed
from pipelines.domain.plan_differences import Kept, difference
from pipelines.domain.plannings import NEW, OLD, Failure, Planned, PlannedOperator, PlannedQuery, Planning
from pipelines.domain.verdicts import Outcome
from pipelines.sandbox import installed
from pipelines.verbs.experiments import Diff
from pipelines.verbs.face import do
from pipelines.verbs.plan_difference import ComparePlans
from pipelines.verbs.run import RunScript
from pipelines.words import verdicts as words
from tests.workspace.conftest import House

CODE = """
import sys
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
events = spark.readStream.schema("post STRING, ts TIMESTAMP, n INT").json(sys.argv[1]).withWatermark("ts", "5 minutes")
counted = events.groupBy(F.window("ts", "10 minutes"), "post").agg(F.sum("n").alias("total"))
counted.writeStream.queryName("counts").format("noop").start()
# more
spark.streams.awaitAnyTermination()
"""
STANDS = Installed("3.11", "17", {"pyspark": "4.3.0"})
MORE = 'events.dropDuplicates(["post", "ts"]).writeStream.queryName("late").format("noop").start()'


def version(house: House, name: str, code: str, folder: str) -> str:
    """Of a job that never came up: no checkpoint is known of it."""
    return do(house.face, RunScript(name=name, script="job.py", code=code, args=(folder,))).version


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_two_versions_are_planned_and_compared_operator_by_operator(
    house: House, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path_factory.mktemp("input"))
    sums = version(house, "a", CODE, folder)
    counts = version(house, "b", CODE.replace('F.sum("n")', 'F.count("n")').replace("# more", MORE), folder)
    assert house.face.ask(Diff(sums, counts)).plans is None and house.face.plan(ComparePlans(sums, counts)).starts_spark
    told = do(house.face, ComparePlans(sums, counts))
    assert (told.outcome, told.new_queries) == (Outcome.CHANGED_MEANING, ("late",))
    assert [(part.operator, part.outcome) for part in told.parts] == [(0, Outcome.CHANGED_MEANING)]
    assert told.parts[0].reasons == ("computes: sum(n) AS total before, count(n) AS total now",)
    (pair, begun) = told.operators
    assert ("computes", "sum(n) AS total", "count(n) AS total") in words.side_by_side(pair)
    assert (begun.query, begun.before, begun.after and begun.after.name) == ("late", None, "dedupe")
    assert not any(house.face.layout.sandbox.glob("op-*")), "nothing is left"
    assert not house.face.plan(ComparePlans(sums, counts)).starts_spark, "kept"
    assert house.face.ask(Diff(sums, counts)).plans == told and house.face.ask(Diff(counts, sums)).plans is None
    back = do(house.face, ComparePlans(counts, sums))
    assert [part.dropped for part in back.parts] == [(), ("late",)] and back.new_queries == ()
    broken = version(house, "c", CODE.replace("# more", "raise KeyError('rates')"), folder)
    with pytest.raises(Incompatible, match="The code of B cannot be planned: KeyError: line 8: 'rates'"):
        do(house.face, ComparePlans(sums, broken))
    of = installed.of
    monkeypatch.setattr(installed, "of", lambda runtime: replace(of(runtime), python="3.0.1"))  # type: ignore[type-var]
    assert house.face.ask(Diff(sums, counts)).plans is None, "other packages are asked anew"


def test_code_that_is_not_there_cannot_be_planned(house: House) -> None:
    run = house.ran()
    bare = replace(house.face.context.files.version(run.version), code="")  # type: ignore[type-var]
    house.face.context.files.write(house.face.layout.version_file(run.version), bare)
    with pytest.raises(Incompatible, match="attached without its code") as error:
        house.face.plan(ComparePlans("a", run.version))
    assert error.value.code == "plans.no_code" and error.value.hint
    with pytest.raises(NotFound):
        house.face.plan(ComparePlans("a", "nobody"))


@pytest.mark.parametrize("side", [OLD, NEW])
def test_a_query_that_spark_does_not_plan_is_said_with_its_side(side: str) -> None:
    fails = Planned((PlannedQuery("counts", failure=Failure("AnalysisException", "no such column")),))
    sides = {OLD: Planned((PlannedQuery("counts"),)), NEW: Planned((PlannedQuery("counts"),)), side: fails}
    letter = {OLD: "A", NEW: "B"}[side]
    with pytest.raises(Incompatible, match=f"The code of {letter} cannot be planned: AnalysisException: no such column"):
        difference(Planning("4.3.0", sides=sides), {"counts": Kept({}, {})}, None, ())


def test_code_that_starts_no_query_is_said_with_its_side() -> None:
    sides = {OLD: Planned(), NEW: Planned((PlannedQuery("counts"),))}
    with pytest.raises(Incompatible, match="The code of A starts no streaming query"):
        difference(Planning("4.3.0", sides=sides), {}, None, ())


def test_the_same_is_the_same_and_what_could_not_be_compared_whole_is_not() -> None:
    counted = PlannedOperator(0, "stateStoreSave", "a digest", (("computes", "sum(n)"),))
    for gaps, outcome in (((), Outcome.SAME), (("a model",), Outcome.CANNOT_TELL)):
        side = Planned((PlannedQuery("counts", (replace(counted, gaps=gaps),)),))
        contract = {0: Keeps("stateStoreSave", {"default key": "k string", "default value": "sum bigint"})}
        planning = Planning("4.3.0", "3.11", "17", {OLD: side, NEW: side})
        told = difference(planning, {"counts": Kept(contract, contract)}, STANDS, ())
        assert (told.outcome, [pair.before == pair.after for pair in told.operators]) == (outcome, [True])


def test_a_job_and_its_version_are_one_code(house: House) -> None:
    run = house.ran()
    plan = house.face.plan(ComparePlans("a", run.version))
    assert (plan.a, plan.b, plan.job) == (run.version, run.version, JobName("")) and plan.starts_spark
