"""Records the settings of `DataStreamWriter`, and hands every start over to the driver.

PySpark keeps these facts in the JVM, in private fields; so the Python methods that set them are wrapped. Classic mode only.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

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


def install(start: Start) -> None:
    """Wraps `DataStreamWriter`: setters note, `start` and `toTable` go through `start`."""
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    _noting(DataStreamWriter)
    _starting(DataStreamWriter, start)


def _noting(writer_class: Any) -> None:
    def after(name: str, note: Callable[..., None]) -> None:
        original = getattr(writer_class, name)

        def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            answer = original(self, *args, **kwargs)
            note(asked(self), *args, **kwargs)
            return answer

        setattr(writer_class, name, wrapped)

    after("queryName", lambda notes, queryName: setattr(notes, "name", queryName))
    after("format", lambda notes, source: setattr(notes, "format", source))
    after("outputMode", lambda notes, outputMode: setattr(notes, "output_mode", outputMode))
    after("option", lambda notes, key, value: _note_option(notes, key, value))
    after("options", _note_options)
    after("foreach", lambda notes, f: setattr(notes, "format", "foreach"))
    after("foreachBatch", lambda notes, func: setattr(notes, "format", "foreachBatch"))


def _note_option(notes: Asked, key: str, value: object) -> None:
    if value is not None:
        notes.options[key.lower()] = str(value)


def _note_options(notes: Asked, **options: object) -> None:
    for key, value in options.items():
        _note_option(notes, key, value)


def _starting(writer_class: Any, start: Start) -> None:
    start_there, to_table_there = writer_class.start, writer_class.toTable

    def started(self: Any, path: Any = None, format: Any = None, outputMode: Any = None, partitionBy: Any = None, **kwargs: Any) -> Any:
        _apply(self, format, outputMode, kwargs)
        if path is not None:
            asked(self).options["path"] = str(path)
        return _handed_over(self, start, lambda: start_there(self, path, outputMode=outputMode, partitionBy=partitionBy))

    def to_table(self: Any, tableName: str, format: Any = None, outputMode: Any = None, partitionBy: Any = None, **kwargs: Any) -> Any:
        _apply(self, format, outputMode, kwargs)
        asked(self).table = tableName
        return _handed_over(self, start, lambda: to_table_there(self, tableName, outputMode=outputMode, partitionBy=partitionBy))

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
