"""What is said of a connector: what to give a job, and where it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain import connectors
from pipelines.domain.connectors import DELTAS, ICEBERGS, Connector
from pipelines.words.connectors import need
from tests import delta, iceberg, maven

README = Path(__file__).resolve().parents[2] / "pipelines" / "README.md"


def test_delta_needs_its_jar_and_confs_on_a_spark_that_it_has_a_release_for() -> None:
    text = need(connectors.delta("4.1.4", ()))
    assert text.startswith("needs the conf spark.jars.packages=io.delta:delta-spark_4.1_2.13:4.4.0 (tried), and the confs ")
    assert "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in text and "DeltaCatalog" in text


def test_where_there_is_no_release_it_says_on_which_sparks_there_is_one_and_how_to_get_the_newest() -> None:
    text = need(connectors.delta("4.3.0", ()))
    assert "no release for it that is known: let the job run on Spark 3.5, 4.0, 4.1 or 4.2 (--runtime spark-4.2/bin/python" in text
    assert '-m pip install "pyspark==4.2.*"' in text
    assert not connectors.delta("4.3.0", ()).fits and not connectors.iceberg("4.2.0", ()).fits


def test_a_jar_of_its_own_is_enough_where_it_is_for_that_spark() -> None:
    assert need(connectors.iceberg("4.1.4", ["iceberg-spark-runtime-4.1_2.13-1.11.0.jar"])) == "is among Spark's jars"
    assert need(connectors.delta("4.0.1", ["delta-spark_2.13-4.0.0.jar"])).startswith(
        "is among Spark's jars; a job needs the confs spark.sql"
    )


def test_a_jar_for_another_spark_is_named() -> None:
    connector = connectors.delta("4.1.4", ["delta-spark_4.2_2.13-4.4.0.jar"])
    assert not connector.is_there
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
    *_, said_of_delta, said_of_iceberg = (cell.strip() for cell in row.strip(" |").split("|"))
    assert [said_of_delta, said_of_iceberg] == [short(connectors.delta(spark, ())), short(connectors.iceberg(spark, ()))]


def short(connector: Connector) -> str:
    versions = ", ".join(artifact.rpartition(":")[2] for artifact in connector.artifacts)
    return f"{versions}{', tried' if connector.is_tried else ''}" if versions else "–"
