"""The Python that Spark's workers start on: the driver's own interpreter, with the PySpark that is installed there."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.driver import submit
from pipelines.driver.catalog_conf import catalog_conf

INSTALLED = Path(pyspark.__file__)
ZIP = INSTALLED.parent / "python" / "lib" / "pyspark.zip"
SAY = "import os, pyspark, sys; print(pyspark.__file__, sys.executable, os.environ.get('PYTHONPATH', ''), *sys.argv[1:], sep='\\n')"


def started(path: str) -> list[str]:
    """What a worker with this PYTHONPATH says: PySpark's place, its interpreter, its own PYTHONPATH, its arguments."""
    environ = {"SPARK_HOME": str(INSTALLED.parent), "TIDEMARK_PYTHON": sys.executable, "PYTHONPATH": path, "PATH": os.environ["PATH"]}
    worker = subprocess.run([submit.WORKER_PYTHON, "-c", SAY, "a b"], env=environ, check=True, capture_output=True, text=True)
    return worker.stdout.splitlines()


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (f"{ZIP}", ""),
        (f"{ZIP}:/py4j.zip:/of the job", "/py4j.zip:/of the job"),
        (f"/first:{ZIP}:/last", "/first:/last"),
        (f"/first:{ZIP}", "/first"),
        ("/first:/last", "/first:/last"),
        ("", ""),
    ],
)
def test_a_worker_has_the_installed_pyspark_and_all_else_of_its_path(path: str, left: str) -> None:
    assert started(path) == [str(INSTALLED), sys.executable, left, "a b"]


def test_a_python_that_was_chosen_stays() -> None:
    environment = {"PYSPARK_PYTHON": "/opt/python"}
    submit.prepare_workers(environment)
    assert environment["PYSPARK_PYTHON"] == "/opt/python" and "TIDEMARK_STANDS" not in environment


def test_another_spark_brings_its_own_pyspark() -> None:
    environment = {"SPARK_HOME": "/opt/spark"}
    submit.prepare_workers(environment)
    assert environment["PYSPARK_PYTHON"] == sys.executable


@pytest.mark.spark
def test_workers_of_spark_have_the_installed_pyspark(spark: SparkSession) -> None:
    def place(_: object) -> str:
        import pyspark

        return str(pyspark.__file__)

    assert spark.sparkContext.parallelize([0], 1).map(place).collect() == [str(INSTALLED)]


OWN = {"spark.sql.warehouse.dir", "spark.hadoop.javax.jdo.option.ConnectionURL"}


def spec(**conf: str) -> RunSpec:
    here = RunSpec(SPEC_FORMAT, RunId("r"), JobName("j"), VersionId("v"), "s.py", (), conf, "", "/c", "/o")
    return replace(here, warehouse="/w s")


@pytest.mark.parametrize(
    ("conf", "files", "own"),
    [
        ({}, {}, OWN),
        ({"spark.sql.shuffle.partitions": "2"}, {"spark-defaults.conf": "# a remark\n\nspark.master local\n"}, OWN),
        ({"spark.sql.warehouse.dir": "/mine"}, {}, set()),
        ({"spark.hadoop.hive.metastore.uris": "thrift://m"}, {}, set()),
        ({"spark.hive.metastore.uris": "thrift://m"}, {}, set()),
        ({}, {"spark-defaults.conf": "spark.sql.warehouse.dir=/mine"}, set()),
        ({}, {"hive-site.xml": "<configuration/>"}, set()),
    ],
    ids=["nobody says", "other confs", "a conf", "a metastore", "spelt shorter", "this machine's defaults", "this machine's Hive"],
)
def test_a_job_has_its_own_warehouse_unless_somebody_says_where_tables_are(
    tmp_path: Path, conf: dict[str, str], files: dict[str, str], own: set[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    chosen = catalog_conf(spec(**conf), {"SPARK_CONF_DIR": str(tmp_path)})
    assert set(chosen) == own
    arguments = submit.submit_arguments(spec(**conf), chosen)
    assert ("'spark.sql.warehouse.dir=/w s/tables'" in arguments) == bool(own)


@pytest.mark.parametrize(
    ("master", "given", "started"),
    [
        ("yarn", "/opt/cluster/python", "/opt/cluster/python"),
        ("yarn", "", "/opt/server/python"),
        ("local[2]", "/other", "/opt/server/python"),
    ],
)
def test_executors_start_the_python_that_the_conf_names(tmp_path: Path, master: str, given: str, started: str) -> None:
    environment = {"PYSPARK_PYTHON": "/opt/server/python"}
    submit.prepare(replace(spec(**{submit.PYTHON_CONF: given} if given else {}), master=master), environment, tmp_path)
    assert environment["PYSPARK_PYTHON"] == started


def test_tables_of_a_workspace_lie_on_this_machine_wherever_hadoop_looks_for_paths(tmp_path: Path) -> None:
    core = "<configuration><property><name>fs.defaultFS</name><value>hdfs://namenode:8020</value></property></configuration>"
    (tmp_path / "core-site.xml").write_text(core)
    assert catalog_conf(spec(), {"HADOOP_CONF_DIR": str(tmp_path)})["spark.sql.warehouse.dir"] == "file:/w s/tables"
    assert catalog_conf(spec(), {})["spark.sql.warehouse.dir"] == "/w s/tables"
