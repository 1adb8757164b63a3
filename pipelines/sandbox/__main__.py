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
from pipelines.sandbox.cluster_copies import COPY_FILE, CopyTask
from pipelines.sandbox.conversions import CONVERSION_FILE, ConversionTask
from pipelines.sandbox.counts import ERROR_FILE, RESULT_FILE, STORES_FILE, TASK_FILE, CountTask
from pipelines.sandbox.key_examples import EXAMPLE_FILE, ExampleTask
from pipelines.sandbox.lookups import LOOK_UP_FILE, LookUpTask
from pipelines.sandbox.migrations import MIGRATION_FILE, MigrationTask
from pipelines.sandbox.readings import READ_FILE, ReadTask
from pipelines.sandbox.rewrites import REWRITE_FILE, RewriteTask

UNREAD = "unread"


def main(folder: Path) -> int:
    """The exit code: 0 with `result.json`, 1 with `error.json`, 2 with the result of state that could not all be read."""
    try:
        result = next((do(folder) for file, do in TASKS.items() if (folder / file).is_file()))
    except Exception as error:  # noqa: BLE001  whatever happens, error.json says so
        traceback.print_exc()
        _write(folder / ERROR_FILE, _failure(error))
        return 1
    _write(folder / RESULT_FILE, result)
    return 2 if result.get(UNREAD) else 0


def _count(folder: Path) -> dict[str, Any]:
    task = CountTask.read(folder)
    spark, unread = counting.session(task), 0
    with (folder / STORES_FILE).open("a") as file:
        for rows in counting.count(spark, task):
            file.write(rows.as_line())
            file.flush()
            unread += bool(rows.error_class)
    return {"spark_version": spark.version, UNREAD: unread}


def _read(folder: Path) -> dict[str, Any]:
    task = ReadTask.read(folder)
    return asdict(reading.read(counting.session(task), task, folder))


def _look_up(folder: Path) -> dict[str, Any]:
    task = LookUpTask.read(folder)
    return asdict(lookup.look_up(counting.session(task), task))


def _example(folder: Path) -> dict[str, Any]:
    task = ExampleTask.read(folder)
    return asdict(key_example.examples(counting.session(task), task, folder))


def _rewrite(folder: Path) -> dict[str, Any]:
    task = RewriteTask.read(folder)
    return asdict(rewriting.rescale(counting.session(task), task, folder))


def _convert(folder: Path) -> dict[str, Any]:
    task = ConversionTask.read(folder)
    return asdict(conversion.convert(counting.session(task), task, folder))


def _migrate(folder: Path) -> dict[str, Any]:
    task = MigrationTask.read(folder)
    return asdict(migration.migrate(counting.session(task), task, folder))


def _copy(folder: Path) -> dict[str, Any]:
    return asdict(copying.copy(CopyTask.read(folder), folder))


TASKS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    TASK_FILE: _count,
    READ_FILE: _read,
    LOOK_UP_FILE: _look_up,
    EXAMPLE_FILE: _example,
    REWRITE_FILE: _rewrite,
    CONVERSION_FILE: _convert,
    MIGRATION_FILE: _migrate,
    COPY_FILE: _copy,
}
"""The file that describes a task -> what does it."""


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
