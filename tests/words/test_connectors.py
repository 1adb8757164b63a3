"""What is said of a connector: what to give a job, and where it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain import connectors
from pipelines.domain.connector_jars import conf_files, package_jars
from pipelines.domain.connectors import DELTAS, ICEBERGS, Connector, Jars
from pipelines.words.connectors import need
from tests import delta, iceberg, maven

README = Path(__file__).resolve().parents[2] / "pipelines" / "README.md"


def test_delta_needs_its_jar_and_confs_on_a_spark_that_it_has_a_release_for() -> None:
    text = need(connectors.delta("4.1.4", Jars()))
    assert text.startswith("needs the conf spark.jars.packages=io.delta:delta-spark_4.1_2.13:4.4.0 (tried), and the confs ")
    assert "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in text and "DeltaCatalog" in text


def test_where_there_is_no_release_it_says_on_which_sparks_there_is_one_and_how_to_get_the_newest() -> None:
    text = need(connectors.delta("4.3.0", Jars()))
    assert "no release for it that is known: let the job run on Spark 3.5, 4.0, 4.1 or 4.2 (--runtime spark-4.2/bin/python" in text
    assert '-m pip install "pyspark==4.2.*"' in text
    assert not connectors.delta("4.3.0", Jars()).fits and not connectors.iceberg("4.2.0", Jars()).fits


def test_a_jar_of_its_own_is_enough_where_it_is_for_that_spark() -> None:
    its_own = Jars(spark=("iceberg-spark-runtime-4.1_2.13-1.11.0.jar", "delta-spark_4.1_2.13-4.4.0.jar"))
    assert need(connectors.iceberg("4.1.4", its_own)) == "is among Spark's jars and loads"
    assert need(connectors.delta("4.1.4", its_own)).startswith("is among Spark's jars and loads; a job needs the confs spark.sql")
    given = Jars(confs=("spark-sql-kafka-0-10_2.13-4.2.0.jar",))
    assert need(connectors.kafka("4.3.0", given)) == "loads from the jars that the confs name"


def test_what_spark_fetches_as_a_job_begins_is_known_by_its_name() -> None:
    conf = {"spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.4.0, org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0"}
    jars = Jars(packages=package_jars(conf))
    assert need(connectors.delta("4.1.4", jars)).startswith("is fetched as the job begins (spark.jars.packages); a job needs the confs")
    assert need(connectors.iceberg("4.1.4", jars)).startswith(
        "has iceberg-spark-runtime-4.0_2.13-1.11.0.jar in spark.jars.packages, which is for another Spark: take it away. Then it needs"
    )
    assert need(connectors.kafka("4.1.4", jars)).startswith("needs the conf spark.jars.packages=org.apache.spark:")


@pytest.mark.parametrize(
    ("spark", "named"),
    [
        ("3.5.1", "_2.12:3.5.1 (not tried here)"),
        ("3.5.8", "_2.12:3.5.7 (not tried here)"),
        ("4.1.4", "_2.13:4.1.1 (not tried here)"),
        ("4.2.1", "_2.13:4.2.0 (tried)"),
        ("4.4.0", "_2.13:4.4.0 (not tried here)"),
    ],
)
def test_kafkas_connector_is_of_the_newest_patch_that_there_is(spark: str, named: str) -> None:
    """Maven's repository has not each of Spark's patches."""
    text = need(connectors.kafka(spark, Jars()))
    assert text == f"needs the conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10{named}"


@pytest.mark.parametrize(
    ("spark", "fetched", "said"),
    [
        ("4.1.4", "2.13:4.1.0", "is fetched as the job begins"),
        ("3.5.8", "2.12:3.5.1", "is fetched as the job begins"),
        (
            "4.1.4",
            "2.12:4.1.0",
            "has spark-sql-kafka-0-10_2.12-4.1.0.jar in spark.jars.packages, which is for another Spark: take it away. ",
        ),
        (
            "4.1.4",
            "2.13:4.2.0",
            "has spark-sql-kafka-0-10_2.13-4.2.0.jar in spark.jars.packages, which is for another Spark: take it away. ",
        ),
        (
            "4.3.0",
            "2.12:3.5.1",
            "has spark-sql-kafka-0-10_2.12-3.5.1.jar in spark.jars.packages, which is for another Spark: take it away. ",
        ),
        ("4.3.0", "2.13:4.3.0", "has spark-sql-kafka-0-10_2.13-4.3.0.jar in spark.jars.packages, which Maven's repository does not have "),
        ("4.3.0", "2.13:4.2.0", "has spark-sql-kafka-0-10_2.13-4.2.0.jar in spark.jars.packages, which Maven's repository does not have "),
    ],
)
def test_kafkas_connector_that_spark_fetches_is_for_its_scala_and_release(spark: str, fetched: str, said: str) -> None:
    conf = {"spark.jars.packages": f"org.apache.spark:spark-sql-kafka-0-10_{fetched}"}
    connector = connectors.kafka(spark, Jars(packages=package_jars(conf)))
    assert need(connector).startswith(said)
    assert connector.is_ready is ("is fetched" in said) and (connector.is_ready or "Then it needs" in need(connector))


def test_only_files_of_this_machine_are_jars_to_load() -> None:
    conf = {
        "spark.jars": "/a/one.jar, file:///a/two.jar,file:/a/three.jar,s3a://b/four.jar,{code}/five.jar",
        "spark.driver.extraClassPath": "/lib/*:/a/six.jar",
    }
    assert conf_files(conf) == ("/a/one.jar", "/a/two.jar", "/a/three.jar", "/lib/*", "/a/six.jar")
    assert conf_files({}) == package_jars({"spark.jars.packages": "nonsense"}) == ()


def test_s3_takes_the_hadoop_that_is_among_sparks_jars() -> None:
    (connector,) = connectors.s3(Jars(spark=("hadoop-client-api-3.4.2.jar", "hadoop-aws-3.4.1.jar")))
    assert not connector.is_ready and "which is for another Hadoop: take it away. Then it needs" in need(connector)
    assert need(connector).endswith("the conf spark.jars.packages=org.apache.hadoop:hadoop-aws:3.4.2 (not tried here)")
    (fetched,) = connectors.s3(Jars(spark=("hadoop-client-api-3.4.2.jar",), packages=("hadoop-aws-3.4.2.jar",)))
    assert fetched.is_ready and connectors.s3(Jars()) == ()


def test_a_jar_for_another_spark_is_named() -> None:
    connector = connectors.delta("4.1.4", Jars(spark=("delta-spark_4.2_2.13-4.4.0.jar",)))
    assert not connector.is_ready
    assert need(connector).startswith("has delta-spark_4.2_2.13-4.4.0.jar among Spark's jars, which is for another Spark: take it away. ")
    assert "Then it needs the conf spark.jars.packages=io.delta:delta-spark_4.1_2.13:4.4.0" in need(connector)


@pytest.mark.parametrize(
    ("name", "artifact"),
    [
        *((delta.connector(spark), DELTAS[spark]) for spark in ("3.5", "4.1")),
        *((iceberg.connector(spark), ICEBERGS[spark]) for spark in ("3.5", "4.1")),
    ],
)
def test_what_it_names_is_what_the_suite_runs_jobs_on(name: str, artifact: str) -> None:
    text = (maven.HERE / f"{name}.xml").read_text()
    group, identifier, version = artifact.split(":")
    assert f"<groupId>{group}</groupId>" in text and f"<artifactId>{identifier}</artifactId>" in text and f"<version>{version}<" in text


@pytest.mark.parametrize("spark", ["3.5", "4.0", "4.1", "4.2", "4.3"])
def test_the_table_of_the_readme_says_the_same(spark: str) -> None:
    (row,) = [line for line in README.read_text().splitlines() if line.startswith(f"  | {spark} |")]
    *_, of_kafka, of_delta, of_iceberg = (cell.strip() for cell in row.strip(" |").split("|"))
    assert [of_delta, of_iceberg] == [short(connectors.delta(spark, Jars())), short(connectors.iceberg(spark, Jars()))]
    connector = connectors.kafka(f"{spark}.9", Jars())
    assert of_kafka == ("that of 4.2.0 with three more jars, tried" if connector.is_by_hand else f"up to {short(connector)}")


def short(connector: Connector) -> str:
    versions = ", ".join(artifact.rpartition(":")[2] for artifact in connector.artifacts)
    return f"{versions}{', tried' if connector.is_tried else ''}" if versions else "–"
