"""What a driver is started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.versions import version
from pipelines.sandbox.classes import SUBMIT_OPTIONS
from pipelines.sandbox.environment import ROOT
from pipelines.supervisor.commands import SPARK, spark_command, spark_environ
from tests.sandbox.interpreters import interpreter, keeping
from tests.waiting import until


def test_a_local_master_listens_on_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert spark_environ(version("a.py", ""))["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert "SPARK_LOCAL_IP" not in spark_environ(version("a.py", "", master="spark://cluster:7077"))


def test_an_address_of_the_users_own_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.2")
    assert spark_environ(version("a.py", ""))["SPARK_LOCAL_IP"] == "127.0.0.2"


def test_every_driver_finds_a_java_and_the_driver_module() -> None:
    environ = spark_environ(version("a.py", "import mine"))
    assert (Path(environ["JAVA_HOME"]) / "bin" / "java").exists()
    assert environ["PYTHONPATH"].split(":")[0] == str(ROOT)


def test_another_interpreter_runs_the_driver() -> None:
    assert spark_command(version("a.py", "", python="/opt/spark35/bin/python")) == ["/opt/spark35/bin/python", "-m", "pipelines.driver"]


def test_the_second_driver_starts_from_the_classes_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(SUBMIT_OPTIONS, "-Dmine")
    job = version("a.py", "", python=interpreter(tmp_path, keeping("classes")))
    assert SPARK.environ(job)[SUBMIT_OPTIONS] == "-Dmine"
    SPARK.started(job)
    until(lambda: "-XX:SharedArchiveFile=" in SPARK.environ(job)[SUBMIT_OPTIONS])
    assert SPARK.environ(job)[SUBMIT_OPTIONS].endswith(" -Dmine")
