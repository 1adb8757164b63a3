"""A SQL file as a script: its statements by Spark's own parser, its sources and sinks by PySpark's readers and writers.

The writers are those that every script uses, so a query of SQL gets its name, checkpoint and sink as any other.
"""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.domain import sql_jobs, sql_text
from pipelines.domain.errors import Invalid, Unsupported
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.sql_jobs import Does, Statement
from pipelines.domain.texts import first_line
from pipelines.driver import failures

NEEDS = (4, 3)
"""From this Spark on its grammar has `STREAM name WATERMARK …` (measured; 4.2 was not)."""
PARQUET, MEMORY = "parquet", "memory"
FILES = {PARQUET, "orc", "json", "csv", "text", "xml", "avro", "delta"}
"""Formats that write to a folder: without a path, the one of the sink's name in the job's own output directory."""
TRIGGER, MODE, AVAILABLE_NOW = "trigger", "outputmode", "availableNow"
"""Properties of a sink that are no options of its format."""
_PLACE = re.compile(r"[;(]?\s*line (\d+)[, ]+pos \d+")
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
HINT = "Correct the line and try again."


def execute(spec: RunSpec) -> None:
    """Runs the script of a run to its end: Python as `__main__`, SQL statement by statement."""
    if not sql_jobs.is_sql(spec.script):
        runpy.run_path(spec.script, run_name="__main__")
        return
    from pyspark.sql import SparkSession

    path = Path(spec.script)
    spark = SparkSession.builder.getOrCreate()
    for sink in list(Script(spark, path.name, path.read_text(encoding="utf-8"), spec.output).sinks(spec.args)):
        sink.start()


@dataclass(frozen=True)
class Once:
    """A table that is written once, whole: what `CREATE MATERIALIZED VIEW` stands for."""

    writer: Any

    def start(self) -> None:
        self.writer.save()


class Script:
    """A SQL file on a session. Raises SyntaxError with the file's line where Spark cannot read it, Invalid with Spark's error class where
    Spark cannot do it, Unsupported (`sql.spark`) on an older Spark."""

    def __init__(self, spark: Any, name: str, code: str, output: str) -> None:
        self._spark = spark
        self._name = name
        self._code = code
        self._output = output.rstrip("/")
        self._job = sql_jobs.check(code, name)
        self._streamed = sql_jobs.streamed(self._job)

    def sinks(self, args: tuple[str, ...]) -> Iterator[Any]:
        """Executes the statements; for each sink its writer, which is not started: nothing starts before all can."""
        self._require_spark()
        for name, value in sql_jobs.values(args).items():
            self._spark.conf.set(name, value)  # Spark puts it in the place of ${name}
        for statement in self._job:
            sink = self._placed(statement)
            if sink is not None:
                yield sink

    def _require_spark(self) -> None:
        version = tuple(int(part) for part in self._spark.version.split(".")[:2])
        if version < NEEDS:
            message = f"A SQL job needs Spark {'.'.join(map(str, NEEDS))}, this is {self._spark.version}."
            raise Unsupported("sql.spark", message, "Name the Python of a newer PySpark (--runtime).")

    def _do(self, statement: Statement) -> Any:
        above = "\n" * (statement.line - 1)  # so that the lines that Spark names are the file's
        if statement.is_sink:
            return self._sink(statement, self._parsed(above + statement.text))
        if statement.does is Does.SOURCE and sql_jobs.plain(statement.name) in self._streamed:
            return self._stream(self._parsed(above + statement.text))
        self._spark.sql(above + statement.text)
        return None

    def _parsed(self, text: str) -> Any:
        """The statement as Spark's parser has it, which takes the values of `${name}` from the thread's active session."""
        from pyspark.sql import SparkSession

        SparkSession._get_j_spark_session_class(self._spark._jvm).setActiveSession(self._spark._jsparkSession)
        return self._spark._jsparkSession.sessionState().sqlParser().parsePlan(text)

    def _stream(self, source: Any) -> None:
        """What Spark would make a view of all rows, as a view of the stream of them."""
        from pyspark.sql.types import StructType

        reader = self._spark.readStream.format(source.provider()).options(**_pairs(source.options()))
        schema = source.userSpecifiedSchema()
        if schema.isDefined():
            reader = reader.schema(StructType.fromJson(json.loads(schema.get().json())))
        view, name = reader.load(), source.tableIdent().table()
        view.createOrReplaceTempView(name) if source.replace() else view.createTempView(name)

    def _sink(self, statement: Statement, plan: Any) -> Any:
        from pyspark.sql import DataFrame

        if plan.columns().size():
            raise Invalid("sql.columns", f"{statement.name} lists its columns", "Leave the list out: the SELECT names them.")
        frame = DataFrame(
            self._spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(self._spark._jsparkSession, plan.query()), self._spark
        )
        table = plan.tableSpec()
        given = table.provider().get() if table.provider().isDefined() else PARQUET
        self._require_format(given)
        options, columns = _pairs(table.properties()), _columns(plan)
        if given.lower() in FILES and "path" not in {key.lower() for key in options}:
            options["path"] = f"{self._output}/{statement.name}"
        if statement.does is Does.WRITES:
            return self._once(statement, frame, given, options, columns)
        return self._query(statement, frame, given, options, columns)

    def _require_format(self, given: str) -> None:
        """Raises what Spark does for a format that it does not have; it would say so only as the query starts."""
        if given.lower() != MEMORY:
            conf = self._spark._jsparkSession.sessionState().conf()
            self._spark._jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(given, conf)

    def _once(self, statement: Statement, frame: Any, given: str, options: dict[str, str], columns: list[str]) -> Once:
        if frame.isStreaming:
            hint = "Write CREATE STREAMING TABLE, or read without STREAM."
            raise Invalid("sql.stream", f"The materialized view {statement.name} reads a stream, which has no end", hint)
        writer = frame.write.format(given).mode("overwrite").options(**options)
        return Once(writer.partitionBy(*columns) if columns else writer)

    def _query(self, statement: Statement, frame: Any, given: str, options: dict[str, str], columns: list[str]) -> Any:
        if not frame.isStreaming:
            hint = "Read its source with STREAM, or write CREATE MATERIALIZED VIEW, which is written once."
            raise Invalid("sql.no_stream", f"The streaming table {statement.name} reads no stream", hint)
        settings = {key.lower(): value for key, value in options.items() if key.lower() in (TRIGGER, MODE)}
        rest = {key: value for key, value in options.items() if key.lower() not in settings}
        writer = frame.writeStream.queryName(statement.name).format(given).options(**rest)
        if columns:
            writer = writer.partitionBy(*columns)
        if MODE in settings:
            writer = writer.outputMode(settings[MODE])
        if TRIGGER not in settings:
            return writer
        every = settings[TRIGGER]
        return writer.trigger(availableNow=True) if every.lower() == AVAILABLE_NOW.lower() else writer.trigger(processingTime=every)

    def _placed(self, statement: Statement) -> Any:
        """Executes a statement; Spark's refusals with the file's line."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import ParseException, PySparkException

        try:
            return self._do(statement)
        except ParseException as error:
            line, message = _located(statement, error)
            raise sql_text.error(self._code, self._name, line, message) from error
        except PySparkException as error:
            line, message = _located(statement, error)
            raise Invalid(error.getCondition() or type(error).__name__, f"{self._name}, line {line}: {message}", HINT) from error
        except Py4JJavaError as error:
            failure = failures.of_exception(error, "")
            message = failure.message.removeprefix(f"[{failure.error_class}]").partition("SQLSTATE")[0].strip()
            raise Invalid(failure.error_class, f"{self._name}, line {statement.line}: {message}", HINT) from error
        except Invalid as error:
            raise Invalid(error.code, f"{self._name}, line {statement.line}: {error.message}", error.hint) from error


def _located(statement: Statement, error: Any) -> tuple[int, str]:
    """The line and the first words of Spark's message, without its class and the plan."""
    text = str(error).strip()
    place = _PLACE.search(text)
    words = _SQL_STATE.sub("", text[: place.start()] if place else text).strip()
    condition = error.getCondition() or ""
    message = first_line(words.removeprefix(f"[{condition}]")).rstrip(".")
    return int(place[1]) if place else statement.line, message


def _columns(plan: Any) -> list[str]:
    """The columns that the sink is partitioned by; Invalid for what a stream cannot be partitioned by."""
    columns = [plan.partitioning().apply(at) for at in range(plan.partitioning().size())]
    if any(column.name() != "identity" for column in columns):
        raise Invalid("sql.partitioning", "It is partitioned by an expression", "Name columns; SELECT the expression as one.")
    return [str(column.references()[0].fieldNames()[0]) for column in columns]


def _pairs(options: Any) -> dict[str, str]:
    """A map of Scala."""
    pairs, mapping = options.iterator(), dict[str, str]()
    while pairs.hasNext():
        pair = pairs.next()
        mapping[str(pair._1())] = str(pair._2())
    return mapping
