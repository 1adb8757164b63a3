"""Other Sparks: what a runtime lacks is said before anything begins, and so is what of a savepoint another Spark cannot read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.errors import Incompatible, Invalid, Unavailable
from pipelines.sandbox import environment
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ShowAbout
from pipelines.verbs.take import Take
from pipelines.words import connectors, plans
from tests.sandbox import interpreters
from tests.sandbox.interpreters import SPARK_35, SPARK_40, SPARK_43
from tests.sandbox.test_java import fake_java
from tests.workspace.conftest import CODE, House


@pytest.fixture
def java_17(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The only Java in the environment."""
    home = str(fake_java(tmp_path / "java", "17"))
    monkeypatch.setenv("JAVA_HOME", home)
    return home


def on(python: str, java_home: str = "") -> RunScript:
    return RunScript(name="b", script="job.py", code=CODE, python=python, java_home=java_home)


def test_a_runtime_that_cannot_run_a_job_is_refused_with_what_to_install(house: House, tmp_path: Path, java_17: str) -> None:
    java_25 = str(fake_java(tmp_path / "java 25", "25"))
    bare, empty = interpreters.without_spark(tmp_path / "bare"), str(tmp_path)
    old = interpreters.interpreter(tmp_path / "old", jars=SPARK_35, python_version="3.9.2")
    ancient = interpreters.interpreter(tmp_path / "ancient", jars=("spark-core_2.12-3.4.1.jar",))
    spark_35 = interpreters.interpreter(tmp_path / "3.5", jars=SPARK_35)
    cases = {
        "runtime.not_found": (on("/no/python"), Invalid),
        "runtime.java_home": (on(spark_35, empty), Invalid),
        "runtime.no_spark": (on(bare), Unavailable),
        "runtime.old_spark": (on(ancient), Unavailable),
        "runtime.old_python": (on(old), Unavailable),
        "java.does_not_fit": (on(spark_35, java_25), Unavailable),
    }
    for code, (change, kind) in cases.items():
        with pytest.raises(kind) as refused:
            house.face.plan(change)
        assert (refused.value.code, bool(refused.value.hint)) == (code, True)
        if code == "java.does_not_fit":
            assert "PySpark 3.5.7 runs on Java 17 to 23: there is 25.0.1 in" in str(refused.value)
            assert "openjdk-17" in refused.value.hint and "--java-home" in refused.value.hint
    assert house.face.ask(ListJobs()) == []


def test_a_version_has_the_java_that_was_named_and_another_runtime_begins_without(house: House, tmp_path: Path, java_17: str) -> None:
    sparks = [interpreters.interpreter(tmp_path / name, jars=jars) for name, jars in (("3.5", SPARK_35), ("4.0", SPARK_40))]
    plain = do(house.face, on(sparks[0]))
    run = do(house.face, replace(on(sparks[0], java_17), name="named"))
    version = house.face.ask(ShowVersion(run.version))
    assert (version.python, version.java_home) == (sparks[0], java_17) and run.version != plain.version
    shown = house.face.ask(ShowAbout()).runtimes
    assert [(runtime.python, runtime.spark_version, runtime.java, runtime.java_named, runtime.versions) for runtime in shown[1:]] == [
        (sparks[0], "3.5.7", java_17, False, 1),
        (sparks[0], "3.5.7", java_17, True, 1),
    ]
    assert not any(runtime.problem for runtime in shown) and shown[1].python_version == "3.11.7"
    kafka, delta, iceberg, _ = shown[1].connectors
    assert "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7" in kafka.artifacts
    assert connectors.need(iceberg).startswith("needs the conf spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:")
    assert delta.artifacts == ("io.delta:delta-spark_2.12:3.3.2",) and delta.is_tried
    assert "let the job run on Spark 3.5, 4.0 or 4.1 (--runtime spark-4.1/bin/python" in connectors.need(shown[0].connectors[2])


def test_about_says_of_a_runtime_that_no_longer_fits_what_is_in_the_way(house: House, tmp_path: Path, java_17: str) -> None:
    python = interpreters.interpreter(tmp_path / "3.5", jars=SPARK_35)
    do(house.face, on(python, java_17))
    fake_java(Path(java_17), "25")  # replaced by another release, as a package manager does
    environment._java.cache_clear()
    listed = house.face.ask(ShowAbout()).runtimes[-1]
    assert "Java 17 to 23" in listed.problem and "openjdk-17" in listed.hint and not listed.java_version
    Path(python).unlink()
    assert "no interpreter" in house.face.ask(ShowAbout()).runtimes[-1].problem


def test_what_another_spark_cannot_read_is_refused_and_nothing_begins(house: House, tmp_path: Path, java_17: str) -> None:
    """Format 2 is not for Spark 3; the golden checkpoints are of Spark 4.3."""
    house.ran(golden="rocksdb_format2")
    savepoint = do(house.face, Take("a"))
    spark_35 = interpreters.interpreter(tmp_path / "3.5", jars=SPARK_35)
    for change in (Fork(savepoint.id, name="b", python=spark_35), Resume("a", python=spark_35), Resume("a", batch=12, python=spark_35)):
        plan = house.face.plan(change)
        assert plan.refusal is not None and plan.refusal.code == "runtime.format", plan
        with pytest.raises(Incompatible) as refused:
            do(house.face, replace(change, force=True))
        assert "Unsupported log version" in refused.value.message and "4.0 or newer" in refused.value.hint
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"]
    spark_40 = interpreters.interpreter(tmp_path / "4.0", jars=SPARK_40)
    plan = house.face.plan(Fork(savepoint.id, name="b", python=spark_40))
    assert plan.refusal is None and [warning for warning in plan.warnings if "they get it in the copy" in warning]
    at_home = house.face.plan(Resume("a", python=spark_40))
    assert at_home.checkpoints != house.face.ask(ShowJob("a")).runs[0].checkpoints, "the job's own stays as it is"
    same = house.face.plan(Resume("a", python=interpreters.interpreter(tmp_path / "4.3", jars=SPARK_43)))
    assert same.checkpoints == house.face.ask(ShowJob("a")).runs[0].checkpoints


def test_the_plan_says_that_it_is_another_spark_and_what_it_computes_otherwise(house: House, tmp_path: Path, java_17: str) -> None:
    house.ran(golden="hdfs")
    savepoint = do(house.face, Take("a"))
    pythons = {name: interpreters.interpreter(tmp_path / name, jars=jars) for name, jars in (("3.5", SPARK_35), ("4.3", SPARK_43))}
    plan = house.face.plan(Fork(savepoint.id, name="b", python=pythons["3.5"]))
    assert plan.refusal is None and (plan.spark, plan.spark_before) == ("3.5.7", "4.3.0")
    assert [warning for warning in plan.warnings if "spark.sql.ansi.enabled=true" in warning]
    assert "3.5.7, where it was 4.3.0: a batch is rehearsed" in dict(plans.restore(plan))["Spark"]
    same = house.face.plan(Fork(savepoint.id, name="b", python=pythons["4.3"]))
    assert not same.spark and not same.warnings
    kept = house.face.plan(Fork(savepoint.id, name="b", python=pythons["3.5"], conf={"spark.sql.ansi.enabled": "true"}))
    assert not kept.warnings


def test_where_the_rehearsal_fails_nothing_is_started(house: House, tmp_path: Path, java_17: str) -> None:
    """An interpreter whose driver ends without a word."""
    house.ran(golden="hdfs")
    savepoint = do(house.face, Take("a"))
    python = interpreters.interpreter(tmp_path / "3.5", jars=SPARK_35)
    for change in (Fork(savepoint.id, name="b", python=python), Resume("a", python=python)):
        with pytest.raises(Incompatible) as refused:
            do(house.face, change)
        assert refused.value.code == "runtime.rehearsal" and "Go on with Spark 4.3.0" in refused.value.hint
    assert [summary.job.name for summary in house.face.ask(ListJobs())] == ["a"]
    assert not list(house.face.layout.sandbox.iterdir())
