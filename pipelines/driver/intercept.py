"""Records the settings of `DataStreamWriter`, and hands every start over to the driver.

PySpark keeps these facts in the JVM, in private fields; so the Python methods that set them are wrapped.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pipelines.driver.methods import after

_NOTES = "_tidemark_asked"


@dataclass
class Asked:
    """The settings of a query before it starts."""

    name: str = ""
    format: str = ""
    options: dict[str, str] = field(default_factory=dict)
    """Names in lower case: Spark does not distinguish."""
    table: str = ""
    output_mode: str = ""
    partition_by: tuple[str, ...] = ()
    trigger: dict[str, Any] = field(default_factory=dict)
    """The arguments of `DataStreamWriter.trigger`."""
    cluster_by: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return self.options.get("path", "")

    @property
    def checkpoint(self) -> str:
        return self.options.get("checkpointlocation", "")


Launch = Callable[[], Any]
Start = Callable[[Any, Asked, Launch], Any]
"""(writer, what was asked, the original start) -> the streaming query."""


def asked(writer: Any) -> Asked:
    """The recorded settings of this writer."""
    notes: Asked = writer.__dict__.setdefault(_NOTES, Asked())
    return notes


def write_instead(writer: Any, change: Callable[[Any], Any]) -> None:
    """Has the writer, which was given no function, write what `change` makes of its DataFrame, with all that was said to it."""
    if not hasattr(writer, "_jwrite"):
        operation = writer._write_stream  # of Spark Connect: pyspark.sql.connect.plan.WriteStreamOperation
        operation._child = change(frame(writer))._plan
        return
    notes, changed = asked(writer), change(frame(writer))
    fresh = changed.writeStream.format(notes.format).options(**notes.options)
    for setter, words in (("partitionBy", notes.partition_by), ("clusterBy", notes.cluster_by)):
        if words:
            getattr(fresh, setter)(*words)
    for setter, word in (("queryName", notes.name), ("outputMode", notes.output_mode)):
        if word:
            getattr(fresh, setter)(word)
    if notes.trigger:
        fresh.trigger(**notes.trigger)
    writer._df, writer._jwrite = changed, fresh._jwrite


def frame(writer: Any) -> Any:
    """The DataFrame that the writer writes."""
    return writer._df if hasattr(writer, "_jwrite") else _connected(writer._write_stream._child, writer._session)


def _connected(plan: Any, session: Any) -> Any:
    from pyspark.sql.connect.dataframe import DataFrame

    return DataFrame(plan, session)


def unwatched(writer: Any) -> Any:
    """The query that Spark starts, of which the driver is not told."""
    start = type(writer).start
    return getattr(start, "__wrapped__", start)(writer)


def install(start: Start) -> None:
    """Wraps the `DataStreamWriter` of a Spark in this process."""
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    wrap(DataStreamWriter, start)


def wrap(writer_class: Any, start: Start) -> None:
    """Setters note, `start` and `toTable` go through `start`."""
    _noting(writer_class)
    _starting(writer_class, start)


def _noting(writer_class: Any) -> None:
    def noted(method: str, note: Callable[..., None]) -> None:
        after(writer_class, method, lambda writer, *args, **kwargs: note(asked(writer), *args, **kwargs))

    noted("queryName", lambda notes, queryName: setattr(notes, "name", queryName))
    noted("format", lambda notes, source: setattr(notes, "format", source))
    noted("outputMode", lambda notes, outputMode: setattr(notes, "output_mode", outputMode))
    noted("option", lambda notes, key, value: _note_option(notes, key, value))
    noted("options", _note_options)
    noted("partitionBy", _note_partitions)
    noted("trigger", lambda notes, **trigger: setattr(notes, "trigger", trigger))
    if hasattr(writer_class, "clusterBy"):  # Spark 4.0 began with it
        noted("clusterBy", lambda notes, *columns: setattr(notes, "cluster_by", columns))
    noted("foreach", lambda notes, f: setattr(notes, "format", "foreach"))
    noted("foreachBatch", lambda notes, func: setattr(notes, "format", "foreachBatch"))


def _note_option(notes: Asked, key: str, value: object) -> None:
    if value is not None:
        notes.options[key.lower()] = str(value)


def _note_partitions(notes: Asked, *columns: Any) -> None:
    """Columns one by one, or all in one list."""
    notes.partition_by = tuple(columns[0]) if len(columns) == 1 and not isinstance(columns[0], str) else columns


def _note_options(notes: Asked, **options: object) -> None:
    for key, value in options.items():
        _note_option(notes, key, value)


def _starting(writer_class: Any, start: Start) -> None:
    start_there, to_table_there = writer_class.start, writer_class.toTable

    def started(self: Any, path: Any = None, format: Any = None, outputMode: Any = None, partitionBy: Any = None, **kwargs: Any) -> Any:
        _apply(self, format, outputMode, kwargs)
        if path is not None:
            asked(self).options["path"] = str(path)

        def launch() -> Any:
            kept = path if path is None or asked(self).path == str(path) else None  # Spark takes it from the option
            return start_there(self, kept, outputMode=outputMode, partitionBy=partitionBy)

        return _handed_over(self, start, launch)

    def to_table(self: Any, tableName: str, format: Any = None, outputMode: Any = None, partitionBy: Any = None, **kwargs: Any) -> Any:
        _apply(self, format, outputMode, kwargs)
        if partitionBy is not None:
            self.partitionBy(partitionBy)
        asked(self).table = tableName

        def launch() -> Any:
            table = asked(self).table
            return to_table_there(self, table, outputMode=outputMode) if table else start_there(self, outputMode=outputMode)

        return _handed_over(self, start, launch)

    started.__wrapped__ = start_there  # type: ignore[attr-defined]
    writer_class.start, writer_class.toTable = started, to_table


def _handed_over(writer: Any, start: Start, launch: Launch) -> Any:
    """What the driver sets on the writer is not noted: a script may start the same writer again."""
    notes = asked(writer)
    writer.__dict__[_NOTES] = deepcopy(notes)
    try:
        return start(writer, notes, launch)
    finally:
        writer.__dict__[_NOTES] = notes


def _apply(writer: Any, format: Any, output_mode: Any, kwargs: dict[str, Any]) -> None:
    """The keyword arguments of a start (`queryName`, the rest options), said through the setters, which note them."""
    name = kwargs.pop("queryName", None)
    writer.options(**kwargs)
    if format is not None:
        writer.format(format)
    if output_mode is not None:
        writer.outputMode(output_mode)
    if name is not None:
        writer.queryName(name)
