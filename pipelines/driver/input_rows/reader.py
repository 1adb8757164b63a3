"""Runs the job's script up to the start of the query whose batch failed, and reads that query's sources instead of starting it.

Each source is a query of its own, on a checkpoint whose newest batch is planned: Spark gives it the rows from the batch's first offset to
its last, as it would give them to the job.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pipelines.domain.ids import folder_of
from pipelines.domain.input_rows import RESULT_FILE, TASK_FILE, InputsRead, InputTask, SourceRows, SourceTask
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import failures, intercept, outside, queries, query_names, records, rehearsal, run, secret_values, sql_script, submit
from pipelines.driver.connect import importing
from pipelines.driver.input_rows.values import first_rows
from pipelines.driver.intercept import Asked, Launch
from pipelines.driver.planning.forms import items
from pipelines.driver.planning.sides import NotStarted, Over
from pipelines.driver.planning.sources import FILES, OTHERS, named
from pipelines.driver.query_names import GivenNames

CONNECT = "Its queries run on a Spark Connect server, whose sources are out of reach from here."
GONE = "The job's code has no such source at that place any more."
MOST_FILES = 1_000
NOT_READ = "Spark planned no batch of it."


def read(folder: Path) -> int:
    """Answers the task in `folder`; the exit code."""
    task = rebuilt(InputTask, json.loads((folder / TASK_FILE).read_text()))
    spec = run.read_spec(folder)
    secret_values.hide(spec)
    outside.check(spec.outside)
    submit.prepare(spec, os.environ, folder)
    submit.enter(spec)
    reader = installed(spec, task, folder)
    problem = reader.play()
    answer = InputsRead(reader.sources, "" if reader.sources else problem)
    records.replace_whole(folder / RESULT_FILE, json.dumps(asdict(answer)))
    return 0


def installed(spec: RunSpec, task: InputTask, folder: Path) -> Reader:
    """From now on nothing is written by the script itself, readers leave their files alone, and queries do not start."""
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    reader = Reader(spec, task, folder, DataStreamWriter.start)
    rehearsal.protect()
    intercept.install(reader.started)
    importing.install(_out_of_reach)
    return reader


class Reader:
    """Stands in for the start of the script's queries. `start` is PySpark's own."""

    def __init__(self, spec: RunSpec, task: InputTask, folder: Path, start: Any) -> None:
        self._spec = spec
        self._task = task
        self._folder = folder
        self._names = GivenNames(spec.locations, frozenset(map(folder_of, spec.expected)))
        self._start = start
        self.sources: tuple[SourceRows, ...] = ()

    def play(self) -> str:
        """Why the query's sources were not reached; empty where they were."""
        try:
            sql_script.execute(self._spec)
        except Over:
            return ""
        except BaseException as error:  # noqa: BLE001  a script may raise anything; it is the answer
            traceback.print_exc()
            failed = failures.of_exception(error, self._spec.script)
            return f"The job's code ended before it started {self._task.query}: {failed.error_class}: {failed.message}"
        return f"The job's code did not start {self._task.query}."

    def started(self, writer: Any, request: Asked, launch: Launch) -> NotStarted:
        """Ends the script where the query starts whose sources are asked for; raises `Over` then."""
        location = query_names.location_of(request, queries.default_fs(writer._spark), self._spec.output)
        name = self._names.of(request.name, location)
        self._names.note(name, location)
        if name != self._task.query:
            return NotStarted(name, lambda: None)
        leaves = _leaves(writer._df)
        self.sources = tuple(self._read(writer._spark, source, leaves.get(source.key)) for source in self._task.sources)
        raise Over

    def _read(self, spark: Any, task: SourceTask, leaf: Any) -> SourceRows:
        if not task.checkpoint:
            return SourceRows(task.source, problem=task.problem)
        if leaf is None:
            return SourceRows(task.source, problem=GONE)
        given: list[SourceRows] = []

        def note(frame: Any, batch: int) -> None:
            given.append(first_rows(task.source, frame, self._task.limit))

        try:
            frame = _frame(spark, leaf)
            writer = frame.writeStream.queryName(f"input of {self._task.query}, {task.source}, {task.key}").trigger(once=True)
            writer = writer.option("checkpointLocation", f"file:{self._folder / task.checkpoint}").foreachBatch(note)
            self._start(writer).awaitTermination()
        except Exception as error:  # noqa: BLE001  whatever a source says is the answer about it
            traceback.print_exc()
            failed = failures.of_exception(error, self._spec.script)
            return SourceRows(task.source, problem=f"{failed.error_class}: {failed.message}")
        rows = given[0] if given else SourceRows(task.source, problem=NOT_READ)
        return replace(rows, problem=" ".join(filter(None, (rows.problem, _gone(spark, task.files)))))


def _leaves(frame: Any) -> Mapping[str, Any]:
    """The sources' leaves in the plan, by place and, where the code has named them, by name."""
    every = items(frame._jdf.queryExecution().analyzed().collectLeaves())
    leaves = [leaf for leaf in every if leaf.getClass().getSimpleName() in (FILES, OTHERS)]
    return {**{str(at): leaf for at, leaf in enumerate(leaves)}, **{name: leaf for leaf in leaves if (name := named(leaf))}}


def _gone(spark: Any, files: Sequence[str]) -> str:
    """How many of the files are not there any more, and the first of them; empty for none. Of very many only the first are looked for."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    paths = {file: spark._jvm.org.apache.hadoop.fs.Path(spark._jvm.java.net.URI(file)) for file in files[:MOST_FILES]}
    gone = [file for file, path in paths.items() if not path.getFileSystem(conf).exists(path)]
    return f"Gone: {len(gone):,} of {len(files):,} files, the first {gone[0]}." if gone else ""


def _frame(spark: Any, leaf: Any) -> Any:
    """The source alone. Spark 4 has datasets in a package of their own."""
    from pyspark.sql import DataFrame

    sql = spark._jvm.org.apache.spark.sql
    datasets = sql.Dataset if spark.version.startswith("3.") else sql.classic.Dataset
    return DataFrame(datasets.ofRows(spark._jsparkSession, leaf), spark)


def _out_of_reach(*_: Any) -> Any:
    raise RuntimeError(CONNECT)
