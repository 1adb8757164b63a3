"""`python -m pipelines.sandbox FOLDER`: executes the task that the folder's JSON describes, in a Spark of its own."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipelines.sandbox import conversion, copying, counting, key_example, lookup, migration, reading, rewriting
from pipelines.sandbox.cluster_copies import CopyTask
from pipelines.sandbox.conversions import ConversionTask
from pipelines.sandbox.counts import ERROR_FILE, RESULT_FILE, STORES_FILE, Counted, CountTask, Task
from pipelines.sandbox.key_examples import ExampleTask
from pipelines.sandbox.lookups import LookUpTask
from pipelines.sandbox.migrations import MigrationTask
from pipelines.sandbox.readings import ReadTask
from pipelines.sandbox.rewrites import RewriteTask


def main(folder: Path) -> int:
    """The exit code: 0 with `result.json`, 1 with `error.json`, 2 with the result of state that could not all be read."""
    try:
        kind = next(kind for kind in DOES if (folder / kind.FILE).is_file())
        task = kind.read(folder)
        result = asdict(DOES[kind](counting.session(task), task, folder))
    except Exception as error:  # noqa: BLE001  whatever happens, error.json says so
        traceback.print_exc()
        _write(folder / ERROR_FILE, _failure(error))
        return 1
    _write(folder / RESULT_FILE, result)
    return 2 if result.get("unread") else 0


def _count(spark: Any, task: CountTask, folder: Path) -> Counted:
    unread = 0
    with (folder / STORES_FILE).open("a") as file:
        for rows in counting.count(spark, task):
            file.write(rows.as_line())
            file.flush()
            unread += bool(rows.error_class)
    return Counted(spark.version, unread)


DOES: Mapping[type[Task], Callable[[Any, Any, Path], Any]] = {
    CountTask: _count,
    ReadTask: reading.read,
    LookUpTask: lambda spark, task, _: lookup.look_up(spark, task),
    ExampleTask: key_example.examples,
    RewriteTask: rewriting.rescale,
    ConversionTask: conversion.convert,
    MigrationTask: migration.migrate,
    CopyTask: copying.copy,
}
"""A kind of task -> what does it, with a session, and answers with a dataclass."""


def _failure(error: Exception) -> dict[str, Any]:
    """`error` as JSON. Only for an error of Spark's it says whether the state is damaged."""
    if _is_sparks(error):
        return asdict(counting.refusal(error))
    return {"error_class": type(error).__name__, "message": counting.HIDDEN.shown(str(error).strip())[:2000]}


def _is_sparks(error: Exception) -> bool:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return isinstance(error, PySparkException | Py4JJavaError)


def _write(path: Path, content: dict[str, Any]) -> None:
    """Writes a file aside and renames it, so that a reader never sees a part of it."""
    aside = path.with_name(f".{path.name}.tmp")
    aside.write_text(json.dumps(content))
    aside.replace(path)


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    sys.exit(main(Path(sys.argv[1]).resolve()))
