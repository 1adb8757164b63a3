"""Which Spark an interpreter has: the folder of its jars, and what their names tell. No Spark and no Java is started."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from pipelines.domain.runtimes import Spark
from pipelines.storage import users

WHERE_SPARK_IS = "import importlib.util; spec = importlib.util.find_spec('pyspark'); print(spec.origin if spec else '')"
TIMEOUT_S = 10
_JARS: dict[str, Path] = {}
"""Interpreter -> the folder, once it was found."""


def of(python: str) -> Spark | None:
    """The Spark of the interpreter `python` (empty: this one); None where it has none, or does not answer."""
    folder = jars(python)
    if folder is None:
        return None
    names = [path.name for path in folder.glob("*.jar")]
    return Spark(_version(names, r"spark-core_[\d.]+"), _version(names, "hadoop-client-api") or _version(names, "hadoop-common"))


def jars(python: str) -> Path | None:
    """The folder of Spark's jars; None where there is none."""
    if "SPARK_HOME" in os.environ:
        return Path(os.environ["SPARK_HOME"], "jars")
    folder = _JARS.get(python)
    if folder is None or not folder.is_dir():
        origin = _origin(python)
        folder = Path(origin).parent / "jars" if origin else None
    if folder is not None:
        _JARS[python] = folder
    return folder


def _origin(python: str) -> str:
    """The file of the interpreter's PySpark; empty where it has none."""
    if python in ("", sys.executable):
        spec = importlib.util.find_spec("pyspark")
        return (spec.origin or "") if spec else ""
    try:
        asked = users.ask([python, "-c", WHERE_SPARK_IS], os.environ, TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()


def _version(names: list[str], jar: str) -> str:
    """The version in the name of the jar; empty where there is none such."""
    matches = (re.fullmatch(rf"{jar}-(\d[\w.-]*?)\.jar", name) for name in names)
    return next((match[1] for match in matches if match), "")
