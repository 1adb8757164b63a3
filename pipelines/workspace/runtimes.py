"""Runtimes of versions: whether they are on this machine, and which Spark they have."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pipelines.domain.errors import Invalid
from pipelines.domain.runtimes import OWN, Runtime, Spark, problems
from pipelines.domain.versions import Version
from pipelines.sandbox import installed, sparks
from pipelines.verbs.revision import Revision
from pipelines.workspace import environments
from pipelines.workspace.context import Context


def named(runtime: Runtime) -> Runtime:
    """The runtime that somebody named; Invalid (`runtime.not_found`, `runtime.java_home`) where this machine does not have it."""
    if runtime.python and not shutil.which(runtime.python):
        raise no_interpreter(runtime.python)
    if runtime.java_home and not _has_java(runtime.java_home):
        raise Invalid(
            "runtime.java_home", f"There is no bin/java in {runtime.java_home}", "Name the folder of a Java, or none to have one found."
        )
    return runtime


def no_interpreter(python: str) -> Invalid:
    return Invalid("runtime.not_found", f"There is no interpreter {python}", "Name the Python of an environment with PySpark in it.")


def changed(old: Runtime, revision: Revision) -> Runtime:
    """The runtime after `revision`; of the old one what is here. Raises what `named` raises."""
    is_other = revision.python not in (None, old.python)
    python = (revision.python or "") if is_other else old.python if shutil.which(old.python) else ""
    kept = "" if is_other or not _has_java(old.java_home) else old.java_home
    return named(Runtime(python, kept if revision.java_home is None else revision.java_home))


def check(version: Version) -> None:
    """Raises Unavailable where the version's runtime, if it is not Tidemark's own, cannot run a job: it has no PySpark (which requirements
    may bring), is too old, or no Java fits it."""
    if version.runtime != OWN and not version.requirements:
        checked(version.runtime)


def checked(runtime: Runtime) -> Spark:
    """Its Spark; raises Unavailable where no job can run on it."""
    _raise(runtime, "", spark := sparks.of(runtime.python))
    stands = installed.of(runtime)
    _raise(runtime, stands.python if stands else "", spark)
    assert spark is not None, "a problem otherwise"
    return spark


def _raise(runtime: Runtime, python_version: str, spark: Spark | None) -> None:
    for problem in problems(runtime.python, python_version, spark):
        raise problem


def spark_of(context: Context, version: Version) -> Spark | None:
    """The Spark that the version runs on; None where that is not known before its environment is made."""
    if environments.is_missing(context, version):
        return None
    return sparks.of(environments.entered(context, version).python)


def spark_version(context: Context, version: Version) -> str:
    """Of the Spark that the version runs on; empty where that is not known."""
    spark = spark_of(context, version)
    return spark.version if spark is not None else ""


def expect(context: Context, version: Version) -> None:
    """Warms a Spark up for a job that is likely to begin with the version, where jobs begin in such ones."""
    if context.sparks.drivers and not environments.is_missing(context, version):
        context.sparks.expect(environments.entered(context, version).runtime, version.master, version.conf)


def reader(version: Version) -> Runtime:
    """What reads the version's state: its own runtime, or Tidemark's where that has a Spark without a reader of state."""
    spark = sparks.of(version.python)
    return version.runtime if spark is None or spark.reads_state else OWN


def _has_java(home: str) -> bool:
    return bool(home) and os.access(Path(home) / "bin" / "java", os.X_OK)
