"""The arguments of spark-submit: the launcher reads them from the environment when the script's session starts the JVM."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import MutableMapping
from pathlib import Path

from pipelines.domain.runs import RunSpec

QUIET = {"spark.ui.showConsoleProgress": "false"}
"""The log is a file: Spark's progress bars, drawn over themselves, would fill it."""

WORKER_PYTHON = Path(__file__).with_name("worker_python")


def submit_arguments(spec: RunSpec) -> str:
    """`--conf` and friends as PySpark's gateway passes them on; what the script sets in code still wins over them."""
    words = ["--master", spec.master] if spec.master else []
    if "spark.app.name" not in spec.conf:
        words += ["--name", spec.job]
    for key, value in sorted((QUIET | dict(spec.conf)).items()):
        words += ["--conf", f"{key}={value}"]
    return shlex.join([*words, "pyspark-shell"])


def prepare(spec: RunSpec, environment: MutableMapping[str, str]) -> None:
    """Sets the environment for the JVM; a local master's Python workers must be this very interpreter."""
    environment["PYSPARK_SUBMIT_ARGS"] = submit_arguments(spec)
    if spec.master.startswith("local"):
        prepare_workers(environment)
        environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def prepare_workers(environment: MutableMapping[str, str]) -> None:
    """Sets the Python that Spark's workers start on: this interpreter, with the PySpark that is installed in it where that is the Spark
    that will run. A `PYSPARK_PYTHON` that somebody has set stays."""
    installed = "SPARK_HOME" not in environment and os.access(WORKER_PYTHON, os.X_OK)
    environment.setdefault("PYSPARK_PYTHON", str(WORKER_PYTHON) if installed else sys.executable)
    environment["TIDEMARK_PYTHON"] = sys.executable


def enter(spec: RunSpec) -> None:
    """Sets `sys.argv` and `sys.path` as `spark-submit script args` does."""
    sys.argv = [spec.script, *spec.args]
    sys.path[0] = os.path.dirname(os.path.abspath(spec.script))
