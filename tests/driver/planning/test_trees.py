"""Trees of Spark are read whole, in one call each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import functions

from pipelines.driver.planning import facts, sources, trees, trial
from pipelines.driver.planning.forms import Form
from pipelines.driver.planning.own import Own
from pipelines.driver.planning.planner import fingerprint
from tests.driver.planning.codes import spec

pytestmark = pytest.mark.spark


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Python asks of the JVM, but for what it says to be done with."""
    asked: list[str] = []
    send = ClientServerConnection.send_command

    def noted(connection: Any, command: str) -> str:
        if not command.startswith("m\nd\n"):
            asked.append(command)
        return str(send(connection, command))

    monkeypatch.setattr(ClientServerConnection, "send_command", noted)
    return asked


def test_a_plan_of_any_size_is_one_call(spark: Any, calls: list[str]) -> None:
    plan = spark.range(9).selectExpr(*(f"id + {at} AS c{at}" for at in range(50)))._jdf.queryExecution().analyzed()
    form = Form(spark._jvm, {}, True)
    calls.clear()
    name, arguments, _ = form.of(plan)
    assert name == "Project" and [alias[1]["name"] for alias in arguments["projectList"]] == [f"c{at}" for at in range(50)]
    assert len(calls) == 1


def test_the_planner_of_each_jvm_is_tested_once_and_again_where_it_failed(
    spark: Any, calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_passed", object())
    assert "do not tell code apart" in trial.failure(spark, tmp_path / "1", lambda frame, node: "")
    assert trial.failure(spark, tmp_path / "2", fingerprint) == "" and (tmp_path / "2").is_dir()
    calls.clear()
    assert trial.failure(spark, tmp_path / "3", fingerprint) == "" and not calls and not (tmp_path / "3").exists()


@pytest.mark.parametrize(
    ("made", "form"),
    [
        ("1.5D", 1.5),
        ("'ä\"\\n'", ["org.apache.spark.unsafe.types.UTF8String", 'ä"\n']),
        ("X'0AFF'", "0aff"),
        ("1.50BD", ["org.apache.spark.sql.types.Decimal", "1.50"]),
        ("NULL", None),
        ("1L", 1),
    ],
)
def test_values_are_told_whole(spark: Any, made: str, form: Any) -> None:
    plan = spark.range(1).selectExpr(f"{made} AS value")._jdf.queryExecution().analyzed()
    ((_, arguments, _),) = Form(spark._jvm, {}, True).of(plan)[1]["projectList"]
    assert arguments["child"][1]["value"] == form


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT reflect('java.lang.System', 'getProperty', 'rate')", "reflect"),
        ("SELECT TRANSFORM (id) USING 'sh rates.sh' AS (id STRING) FROM range(1)", "TRANSFORM"),
    ],
)
def test_what_is_outside_of_spark_is_a_gap(spark: Any, query: str, says: str) -> None:
    for name in ("optimizedPlan", "executedPlan"):
        form = Form(spark._jvm, {}, False)
        form.of(getattr(spark.sql(query)._jdf.queryExecution(), name)())
        assert any(says in gap for gap in form.reading.gaps), form.reading.gaps


def test_of_files_that_a_batch_reads_it_is_told_when_they_changed(spark: Any, tmp_path: Path) -> None:
    """The files and their folders, as one that is gone shows in its folder alone."""
    folder = tmp_path / "k=1"
    folder.mkdir()
    (folder / "rows.json").write_text('{"v": 1}')

    def newest(*changed: tuple[Path, int]) -> int:
        for place, seconds in changed:
            os.utime(place, (seconds, seconds))
        form = Form(spark._jvm, {}, False)
        form.of(spark.read.json(str(tmp_path))._jdf.queryExecution().executedPlan())
        return form.reads[f"file:{tmp_path}"]

    assert newest((folder / "rows.json", 7), (folder, 5), (tmp_path, 5)) == 7000
    assert newest((folder, 8)) == 8000 and newest((tmp_path, 9)) == 9000


def test_rows_that_the_code_says_are_told_whole_and_seeds_are_not(spark: Any) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")

    def form(query: str, of: str = "optimizedPlan") -> Any:
        taken = Form(spark._jvm, {}, False)
        told = taken.of(getattr(session.sql(query)._jdf.queryExecution(), of)())
        assert not taken.reading.gaps, taken.reading.gaps
        return told

    rows = "SELECT * FROM VALUES ('a', 1, 2.5D), ('b', {}, NULL) AS t(k, r, d)"
    for of in ("analyzed", "executedPlan"):
        assert form(rows.format(3), of) == form(rows.format(3), of) != form(rows.format(4), of)
    nested = "SELECT map('a', named_struct('x', {}, 'y', array(1, NULL)))[string(id)], array(array('b'))[id] FROM range(3)"
    subquery = "SELECT id * (SELECT max(id) FROM range({})) FROM range(3) WHERE id IN (SELECT id FROM range(2))"
    for query in (nested, subquery):
        assert form(query.format(3), "executedPlan") == form(query.format(3), "executedPlan") != form(query.format(4), "executedPlan")
    assert (
        form("SELECT rand(5) + id FROM range(3)") == form("SELECT rand(6) + id FROM range(3)") != form("SELECT randn(6) + id FROM range(3)")
    )


def test_folders_of_a_sides_own_are_called_alike(spark: Any, tmp_path: Path) -> None:
    def form(output: Path, own: Path) -> Any:
        (output / "rows").mkdir(parents=True, exist_ok=True)
        (output / "rows" / "1.json").write_text('{"v": 1}')
        read = spark.read.schema("v INT").json(str(output / "rows")).withColumn("of", functions.lit(str(output)))
        taken = Form(spark._jvm, {}, False, Own(spec(output=str(own))))
        return taken.of(read._jdf.queryExecution().executedPlan())

    a, b = tmp_path / "a" / "output", tmp_path / "b" / "output"
    assert form(a, a) == form(b, b) != form(b, a)


def test_lists_that_the_code_says_are_told_whole_with_the_functions_that_they_go_through(spark: Any, tmp_path: Path) -> None:
    def form(rows: Any) -> tuple[Any, list[str]]:
        taken = Form(spark._jvm, {}, False)
        return taken.of(spark.createDataFrame(rows, "k string, r int")._jdf.queryExecution().executedPlan()), list(taken.reading.gaps)

    def mapped(rate: int) -> Any:
        return spark.sparkContext.parallelize([("a", 1)]).map(lambda row: (row[0], row[1] * rate))

    for made in (lambda rate: [("a", 1), ("b", rate)], lambda rate: [{"k": "a", "r": rate}], mapped):
        (two, gaps), (again, _), (three, _) = form(made(2)), form(made(2)), form(made(3))
        assert two == again != three and not gaps, gaps
    (tmp_path / "rows").write_text("1")
    _, gaps = form(spark.sparkContext.textFile(str(tmp_path)).map(lambda line: ("a", int(line))))
    assert "Spark's plan holds an object of org.apache.spark.rdd.MapPartitionsRDD" in gaps


def test_columns_that_spark_finds_in_files_are_a_gap_and_those_that_a_format_has_are_not(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.schemaInference", "true")
    (tmp_path / "rows.json").write_text('{"v": 1}')
    reader, place = session.readStream, str(tmp_path / "*.json")
    frames = (reader.json(place), reader.schema("v int").json(place), reader.text(place))
    gaps = [source.gap for frame in frames for source in sources.read(frame)]
    assert ["schemaInference" in gap for gap in gaps] == [True, False, False]


def test_what_is_not_known_is_a_gap(spark: Any) -> None:
    form = Form(spark._jvm, {}, True)
    assert form.of(spark._jvm.java.util.ArrayList()) == ["gap"]
    assert list(form.reading.gaps) == ["Spark's plan holds an object of java.util.ArrayList"]
    assert trees.of(spark._jvm).read(spark._jvm.java.math.BigDecimal("1.5")) == ["decimal", "1.5"]


def test_operators_have_the_names_that_the_code_gives_them(spark: Any) -> None:
    """The nearest one above; not that of what is read, nor one of Spark's own."""
    rate = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    once = rate.alias("read").dropDuplicatesWithinWatermark(["value"]).where("value > 1").alias("once").alias("again")
    sums = once.groupBy(functions.window("timestamp", "1 minute")).count()
    sums.createOrReplaceTempView("sums")
    named = spark.sql("SELECT count FROM (SELECT * FROM sums)")
    for frame, names in ((named, ["sums", "once"]), (sums, ["", "once"])):
        assert facts.names_of(frame._jdf.queryExecution().analyzed(), 2) == names
    both = sums.alias("left").union(sums.select("*"))
    assert facts.names_of(both.alias("both")._jdf.queryExecution().analyzed(), 4) == ["left", "once", "", "once"]
    assert facts.names_of(both._jdf.queryExecution().analyzed(), 3) == [""] * 3


def test_an_operator_says_whose_rows_it_takes_and_what_watermark_it_goes_by(spark: Any) -> None:
    """One that others came below still has the watermark that it had."""
    rate = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    once = rate.where("value > 1").dropDuplicatesWithinWatermark(["value"]).where("value > 2")
    sums = once.groupBy("timestamp").agg(functions.sum("value").alias("total"))
    above, below = map(dict, facts.of_operators(sums._jdf.queryExecution().analyzed(), 2))
    assert above["watermark"] == below["watermark"] == "timestamp, 1 minutes"
    assert above["takes the rows of"] == "a deduplication within the watermark: tells apart by value"
    assert above["keeps rows where"] == "(value > CAST(2 AS BIGINT))"
    assert below["keeps rows where"] == "(value > CAST(1 AS BIGINT))" and "takes the rows of" not in below
