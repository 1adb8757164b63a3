"""Modules beside a script: on the path of the driver and of Spark's workers, here and on a cluster's machines."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.driver import outside, submit
from pipelines.driver.failures import of_exception
from pipelines.sandbox import classes
from tests.driver.process import Drivers

SCRIPT = """
import sys
from pathlib import Path
import lib
from pyspark.sql import SparkSession, functions as F
from shop import names

spark = SparkSession.builder.getOrCreate()
name = F.udf(names.name, "string")
rows = spark.range(3, numPartitions=1).select(name("id").alias("name")).collect()
Path(sys.argv[1]).write_text(" ".join(row.name for row in rows) + f" {lib.VALUE}")
"""
FILES = {
    "shop/__init__.py": "",
    "shop/names.py": "def name(n):\n    return 'ada bob cyd'.split()[n]\n",
    "lookup.csv": "a\n",
}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A folder as a version's."""
    for path, text in {**FILES, "job.py": SCRIPT}.items():
        (tmp_path / "code" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / path).write_text(text)
    return tmp_path / "code"


@pytest.fixture
def drivers(tmp_path: Path) -> Iterator[Drivers]:
    drivers = Drivers(tmp_path)
    yield drivers
    drivers.end()


def spec(code: Path, master: str, conf: dict[str, str] | None = None) -> RunSpec:
    script = str(code / "job.py")
    return RunSpec(SPEC_FORMAT, RunId("r"), JobName("a"), VersionId("v"), script, (), conf or {}, master, "", "", code=str(code))


def confs(environment: dict[str, str]) -> dict[str, str]:
    words = shlex.split(environment["PYSPARK_SUBMIT_ARGS"])
    pairs = [word.partition("=") for flag, word in pairwise(words) if flag == "--conf"]
    return {key: value for key, _, value in pairs}


@pytest.fixture
def unwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """`prepare` is for a process of its own."""
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))


@pytest.mark.usefixtures("unwritten")
def test_workers_of_this_machine_find_modules_where_they_are(code: Path, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": "/first"}
    submit.prepare(spec(code, "local[2]"), environment, tmp_path)
    assert environment["PYTHONPATH"] == f"{code}:/first"
    assert submit.PY_FILES not in confs(environment) and not (tmp_path / submit.MODULES).exists()


@pytest.mark.usefixtures("unwritten")
@pytest.mark.parametrize("master", ["spark://m:7077", "yarn", "k8s://m", "local-cluster[1,1,512]"])
def test_workers_of_other_machines_get_them(code: Path, tmp_path: Path, master: str) -> None:
    environment = {"PYTHONPATH": "/first"}
    submit.prepare(spec(code, master, {submit.PY_FILES: "s3://b/lib.zip"}), environment, tmp_path)
    assert confs(environment)[submit.PY_FILES] == f"s3://b/lib.zip,{tmp_path / submit.MODULES}"
    with zipfile.ZipFile(tmp_path / submit.MODULES) as archive:
        assert set(archive.namelist()) == {*FILES, "job.py"}
    assert environment["PYTHONPATH"] == "/first"


@pytest.mark.usefixtures("unwritten")
def test_a_script_alone_changes_nothing(tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    told: Any = spec(tmp_path, "yarn")
    submit.prepare(rebuilt(RunSpec, {**asdict(told), "code": ""}), environment, tmp_path)
    assert submit.PY_FILES not in confs(environment) and environment.keys() == {"PYSPARK_SUBMIT_ARGS"}


@pytest.mark.usefixtures("unwritten")
def test_a_script_imports_what_py_files_name(code: Path) -> None:
    submit.enter(spec(code, "local[2]", {submit.PY_FILES: "/a/lib.zip,file:///b/single.py,s3://c/far.zip"}))
    assert sys.path[:3] == [str(code), "/a/lib.zip", "/b"]


def test_a_file_outside_has_to_be_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "env.tar.gz"
    path.write_bytes(b"packed")
    known = {str(path): hashlib.sha256(b"packed").hexdigest()}
    outside.check(known)
    path.write_bytes(b"packed anew")
    with pytest.raises(Conflict, match="is not what it was"):
        outside.check(known)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(NotFound, match="is not there"):
        outside.check(known)


def test_a_failure_inside_of_a_module_names_it(code: Path) -> None:
    (code / "helper.py").write_text("def f():\n    raise ValueError('no')\n")
    names: dict[str, Any] = {}
    exec(compile((code / "helper.py").read_text(), str(code / "helper.py"), "exec"), names)
    with pytest.raises(ValueError, match="no") as failed:
        names["f"]()
    assert of_exception(failed.value, str(code / "job.py")).message == "helper.py, line 2: no"
    with pytest.raises(SyntaxError) as broken:
        compile("x =", str(code / "helper.py"), "exec")
    assert of_exception(broken.value, str(code / "job.py")).message.startswith("helper.py, line 1: ")


@pytest.mark.spark
def test_modules_reach_the_workers_of_a_cluster(code: Path, drivers: Drivers, tmp_path: Path) -> None:
    """Executors in a process of their own, which knows nothing of the folder; `--py-files` can be imported before there is a Spark."""
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr("lib.py", "VALUE = 7\n")
    told = {"code": str(code), "master": "local-cluster[1,1,700]"}
    executor = {"spark.executor.memory": "700m", "spark.executor.extraJavaOptions": classes.BRIEF}
    conf = {submit.PY_FILES: str(tmp_path / "lib.zip"), **executor}
    environment = {"SPARK_WORKER_DIR": str(tmp_path / "work"), "SPARK_LOCAL_IP": "127.0.0.1"}
    output = tmp_path / "said"
    driver = drivers.start("r", code / "job.py", str(output), conf=conf, told=told, environment=environment)
    assert driver.wait(300) == 0, driver.log
    assert output.read_text() == "ada bob cyd 7"
    assert {path.name for path in code.rglob("*")} == {"shop", "__init__.py", "names.py", "lookup.csv", "job.py"}, (
        "it stays as it was frozen"
    )
