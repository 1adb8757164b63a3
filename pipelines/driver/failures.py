"""The error class and message of a failed run; the whole traceback is in driver.log."""

from __future__ import annotations

import os
import re
import traceback
from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Any

from pipelines.domain.errors import TidemarkError
from pipelines.driver import secret_values

MESSAGE_CHARS = 600
_CONDITION = re.compile(r"(?:^|[\s:])\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] ")
"""Spark writes its error class in brackets before the text, in all versions since 3.4."""
_END = re.compile(r"\s*(at \S+\(|=== Streaming Query ===|JVM stacktrace:|Driver stacktrace:|SQLSTATE)")
_TRACEBACK = "Traceback (most recent call last):"
"""Python's own stack, whose frames are indented and whose last line says what happened."""
_WRAPPERS = {"STREAM_FAILED"}
_NO_STATE_IDS = re.compile(r"CheckpointInfo length: 0, numPartitions: [0-9]+")
"""What Spark's assertion says when nobody computed a batch of a query with state (checkpoint format 2); it has no error class."""


@dataclass(frozen=True)
class Failure:
    """An error class (Spark's, else the exception's name) and what it says."""

    error_class: str
    message: str


BATCH_SKIPPED = Failure(
    "state.batch_skipped",
    "The sink skipped a batch that it has already: it was killed between its own commit and Spark's. Nobody computed the batch's state, so "
    "Spark cannot commit it, and never will. Let a foreachBatch compute the batches that it skips "
    "(frame.write.format('noop').mode('overwrite').save()); of a table that skips them by itself take the batch back, then start again.",
)


def of_query(query: Any) -> Failure | None:
    """Why a streaming query ended, None where it did not fail."""
    if not hasattr(query, "_jsq"):
        exception = query.exception()
        return None if exception is None else of_exception(exception, "")
    exception = query._jsq.exception()
    return of_throwable(exception.get()) if exception.isDefined() else None


def of_exit(error: SystemExit) -> Failure:
    """Why the script ended itself, with what argparse wrote to stderr where that refused its arguments."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code is ArgumentParser.error.__code__]
    why = [str(frame.f_locals["message"]) for frame in frames]
    return Failure("SystemExit", shorten(": ".join([f"the script exited with {error.code!r}", *why])))


def of_exception(error: BaseException, script: str) -> Failure:
    """Why the script ended with `error`."""
    if isinstance(error, TidemarkError):
        return Failure(error.code, secret_values.shown(f"{error.message} {error.hint}".strip()))
    if isinstance(error, SyntaxError):
        where = f"{_inside(error.filename or '', script)}line {error.lineno}"
        return Failure(type(error).__name__, secret_values.shown(f"{where}: {error.msg}: {(error.text or '').strip()}"))
    throwable = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    if throwable is not None:
        return of_throwable(throwable)
    classes = _classes(str(error))
    return Failure(classes[-1][0] if classes else type(error).__name__, shorten(f"{_place(error, script)}{error}"))


def of_throwable(throwable: Any) -> Failure:
    """The deepest cause that carries an error class; without one, the deepest cause."""
    chain = _chain(throwable)
    for cause in reversed(chain):
        message = cause.getMessage() or ""
        if classes := _classes(message):
            name, at = classes[-1]
            return Failure(name, shorten(message[at:]))
    deepest = chain[-1]
    if _NO_STATE_IDS.search(deepest.getMessage() or ""):
        return BATCH_SKIPPED
    return Failure(deepest.getClass().getSimpleName(), shorten(deepest.getMessage() or deepest.toString()))


def shorten(message: str) -> str:
    """The first lines, without secrets, stack traces and Spark's dump of the plan."""
    lines: list[str] = []
    in_traceback = False
    for line in secret_values.shown(message).strip().splitlines():
        if _END.match(line):
            break
        in_traceback = in_traceback or _TRACEBACK in line
        if line.strip() and not (in_traceback and line.startswith(" ")):
            lines.append(line.replace(_TRACEBACK, "").strip())
    text = "\n".join(line for line in lines[:8] if line)
    return text if len(text) <= MESSAGE_CHARS else text[: MESSAGE_CHARS - 1] + "…"


def _classes(message: str) -> list[tuple[str, int]]:
    """(error class, where its text begins), wrappers left out."""
    return [(match[1], match.start(1) - 1) for match in _CONDITION.finditer(message) if match[1] not in _WRAPPERS]


def _chain(throwable: Any) -> list[Any]:
    """`throwable` and its causes, outermost first."""
    chain = [throwable]
    while (cause := chain[-1].getCause()) is not None and len(chain) < 50:
        chain.append(cause)
    return chain


def _place(error: BaseException, script: str) -> str:
    """`line 12: ` where the error passed through the script, `helper.py, line 3: ` through a module beside it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == script or _inside(frame.filename, script)]
    return f"{_inside(frames[-1].filename, script)}line {frames[-1].lineno}: " if frames else ""


def _inside(filename: str, script: str) -> str:
    """`helper.py, ` of a module beside the script; nothing of the script itself."""
    folder = os.path.dirname(script) + os.sep
    beside = os.path.isabs(script) and filename.startswith(folder) and filename != script
    return f"{filename.removeprefix(folder)}, " if beside else ""
