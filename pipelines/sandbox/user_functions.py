"""The user's function of a migration: read, called, and what it gives looked at before a row is computed."""

from __future__ import annotations

import inspect
import re
import sys
import traceback
import types
from collections.abc import Iterator
from typing import Any

from pipelines.sandbox.migrations import MigrationTask

FILE = "the migration's file"
MODULE = "tidemark_migration"
PARTS = ("key", "value")
RAISED = re.compile(r"^\s*[\w.]*(Error|Exception)\b.*")
"""A line that says what was raised, last in a traceback of Python's."""
MOST_CHARS = 300


class WrongRows(Exception):
    """The user's function fails, or its rows do not fit the new state."""


def called(rows: Any, schema: Any, task: MigrationTask, name: str) -> Any:
    """The new rows that the user's function makes of the old `rows` of the state `name`, with the columns of `schema`. Raises WrongRows."""
    from pyspark.sql import DataFrame

    given = _given(rows, schema, task, name)
    if not isinstance(given, DataFrame):
        raise WrongRows(f"{task.function} gave a {type(given).__name__}: it has to give a DataFrame (for {name})")
    wrong = list(_differences(given.schema, schema))
    if wrong:
        raise WrongRows(f"The rows of {task.function} are not those of the new state of {name}: {'; '.join(wrong)}")
    return given


def _given(rows: Any, schema: Any, task: MigrationTask, name: str) -> Any:
    """What the function gives; whatever it raises is said with its line.

    Executors have no such module: its functions go there whole."""
    from pyspark import cloudpickle

    module = sys.modules[MODULE] = types.ModuleType(MODULE)
    cloudpickle.register_pickle_by_value(module)
    try:
        exec(compile(task.code, FILE, "exec", dont_inherit=True), module.__dict__)
        function = getattr(module, task.function, None)
        if not callable(function):
            raise WrongRows(f"The file has no function {task.function}")
        return function(*_taken(function, rows, schema, name))
    except WrongRows:
        raise
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        raise WrongRows(f"{task.function} failed{_line(error)}: {type(error).__name__}: {raised(error)} (for {name})") from error


def _taken(function: Any, *given: Any) -> tuple[Any, ...]:
    """What of `given` the function takes: the name as well if it has a third parameter."""
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        return given[:-1]
    return given


def _line(error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    return f" in line {lines[-1]}" if lines else ""


def raised(error: BaseException) -> str:
    """The line that says what was raised: of a traceback from an executor its last."""
    lines = str(error).strip().splitlines() or [""]
    last = [line.strip() for line in lines if RAISED.match(line)] if any(line.startswith("Traceback") for line in lines) else []
    return (last or lines)[-1 if last else 0][:MOST_CHARS]


def _differences(given: Any, schema: Any) -> Iterator[str]:
    """What the columns of the rows are otherwise than they have to be, in words."""
    if given.names != list(PARTS):
        yield f"their columns are {', '.join(given.names) or 'none'}, and have to be key and value"
        return
    for part in PARTS:
        has, wants = given[part].dataType, schema[part].dataType
        if not hasattr(has, "fields"):
            yield f"{part} is {has.simpleString()}, and has to be {wants.simpleString()}"
        elif has.names != wants.names:
            yield f"{part} has the columns {', '.join(has.names)}, and has to have {', '.join(wants.names)}, in this order"
        else:
            for field, other in zip(has.fields, wants.fields, strict=True):
                if field.dataType.simpleString() != other.dataType.simpleString():
                    yield f"{part}.{field.name} is {field.dataType.simpleString()}, and has to be {other.dataType.simpleString()}"
