"""The Java that tests start Spark on. Most of their JVMs live for seconds, in which they would read classes and compile.

Classes are shared as for every user (`pipelines.sandbox.classes`), and only the first compiler runs: there are hundreds of starts, and in
a job's first four minutes the second compiler takes a third of its processor's time.
"""

from __future__ import annotations

import os
from functools import cache

import psutil

from pipelines.driver import submit
from pipelines.sandbox import classes
from pipelines.sandbox.java import JavaHome, java_home

CODE = "-XX:ReservedCodeCacheSize=256m"
"""With the first compiler alone a JVM has room for 48 MB of compiled code: beyond that it would drop some and compile it again."""

POLLING = "-Dspark.sql.streaming.pollingDelay=200ms"
"""A query without an interval that has nothing to do looks for input a hundred times a second, which takes a fifth of a processor
(4.0 s of 20; so it is 0.7)."""

UI = "-Dspark.ui.enabled=false"
"""What no test of a driver looks at; a job that asks for it in its confs has it."""

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Confs of a Spark for small data: compiling code for ten rows takes longer than to interpret it, a second of the nine that a driver of
five batches takes."""


def prepare(compiles: bool = False) -> None:
    """Sets the variables that Spark reads: its Java, its Python, how they are started, and whether it compiles what it plans."""
    java = _java(os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""))
    classes.make(java, "")
    os.environ["JAVA_HOME"] = str(java.path)
    os.environ.pop("PYSPARK_PYTHON", None)
    submit.prepare_workers(os.environ)
    planning = "" if compiles else " ".join(f"-D{key}={value}" for key, value in INTERPRETED.items())
    os.environ[classes.SUBMIT_OPTIONS] = classes.submit_options(
        java, "", {classes.SUBMIT_OPTIONS: f"{classes.BRIEF} {CODE} {POLLING} {UI} {planning}".rstrip()}
    )
    os.environ["SPARK_LAUNCHER_OPTS"] = os.environ["SPARK_DAEMON_JAVA_OPTS"] = classes.BRIEF  # Spark's history server is a daemon


def jvms(process: psutil.Process) -> list[psutil.Process]:
    """The JVMs that live below a process; none where it does not live itself."""
    try:
        return [child for child in process.children(recursive=True) if name(child) == "java"]
    except psutil.NoSuchProcess:
        return []


def name(process: psutil.Process) -> str:
    """Empty for one that has ended meanwhile (a script's own `chmod`, say)."""
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


@cache
def _java(named: str, path: str) -> JavaHome:
    """The Java of an environment with this JAVA_HOME and PATH, which is asked for its version once, not by each test of Spark."""
    return java_home()
