"""Interpreters that have a Spark, as far as what asks them for it sees; none of them starts one."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

SPARK_35 = ("spark-core_2.12-3.5.7.jar", "hadoop-client-api-3.3.4.jar")
SPARK_40 = ("spark-core_2.13-4.0.1.jar", "hadoop-client-api-3.4.1.jar")
SPARK_43 = ("spark-core_2.13-4.3.0.jar", "hadoop-client-api-3.5.0.jar")


def interpreter(folder: Path, first_run: str = "", jars: Sequence[str] = (), python_version: str = "3.11.7") -> str:
    """An interpreter of `python_version` with a Spark of these `jars`, whose first run is `first_run`."""
    (folder / "pyspark" / "jars").mkdir(parents=True)
    for jar in jars:
        (folder / "pyspark" / "jars" / jar).touch()
    python = folder / "python"
    stands = json.dumps({"python": python_version, "packages": {}, "folders": [], "time_zone": "UTC"})
    cases = f"*find_spec*) echo \"{folder}/pyspark/__init__.py\" ;; pipelines.driver.installed) echo '{stands}' ;;"
    python.write_text(f'#!/bin/sh\ncase "$2" in {cases} *) {first_run or ":"} ;; esac\n')
    python.chmod(0o755)
    return str(python)


def another(folder: Path) -> Path:
    """This interpreter, with its packages, by another path."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


def without_spark(folder: Path) -> str:
    folder.mkdir(parents=True)
    python = folder / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    return str(python)


def keeping(content: str) -> str:
    """A first run whose Java keeps `content` as its classes."""
    return f'made="${{SPARK_SUBMIT_OPTS#*ArchiveClassesAtExit=}}"; printf "{content}" > "${{made%%\\"*}}"'
