"""Has it told what a script asks of Spark's objects: their methods are wrapped, once, and say who asked."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from pipelines.driver import callers

SHAPE = "schema"
"""Answers with the columns, which Spark may have inferred of files; all others that tell of columns call it."""
OF_FILES = {"exists", "open", "isFile", "isDirectory", "getFileStatus", "listStatus", "globStatus", "listFiles", "getContentSummary"}
OF_FILES |= {"listLocatedStatus", "getFileChecksum", "getLength", "getModificationTime"}
"""Methods of Hadoop's file systems, which scripts call in the JVM (`FileSystem.get(…).exists(…)`)."""
OF_THE_JVM = OF_FILES | {"getConnection", "executeQuery", "getenv", "getRuntime"}
_installed: set[type] = set()


def listen(frames: type, actions: Iterable[str], note: Callable[[Any], None], note_inferred: Callable[[Any], None]) -> None:
    """Has `note` told each frame of the class `frames` whose `actions` the script calls, and `note_inferred` those whose columns it asks
    for."""
    if frames in _installed:
        return
    _installed.add(frames)
    _hear(frames, actions, note)
    told = vars(frames)[SHAPE]
    if isinstance(told, functools.cached_property):
        heard = functools.cached_property(_heard(told.func, note_inferred))
        heard.__set_name__(frames, SHAPE)
        setattr(frames, SHAPE, heard)
    else:
        setattr(frames, SHAPE, property(_heard(told.fget, note_inferred)))


def hear(kind: type, methods: Iterable[str], note: Callable[[Any], None], argument: str = "") -> None:
    """Has `note` told each object of the class whose `methods` the script calls; or their first argument, of this name."""
    if kind not in _installed:
        _installed.add(kind)
        _hear(kind, methods, note, argument)


def _hear(kind: type, methods: Iterable[str], note: Callable[[Any], None], argument: str = "") -> None:
    for name in methods:
        if hasattr(kind, name):
            setattr(kind, name, _heard(getattr(kind, name), note, argument))


def listen_to_members(kind: type, note: Callable[[Any], None]) -> None:
    """Has `note` told each member of the JVM's that the script itself calls, of these names; py4j calls each by an object of this class."""
    if kind in _installed:
        return
    _installed.add(kind)
    call: Callable[..., Any] = kind.__call__

    def called(member: Any, *args: Any) -> Any:
        answer = call(member, *args)
        if member.name in OF_THE_JVM and callers.through(sys._getframe(1), callers.SPARKS) is not None and not callers.is_called_back():
            note(member)
        return answer

    kind.__call__ = called  # type: ignore[method-assign]


def _heard(action: Callable[..., Any], note: Callable[[Any], None], argument: str = "") -> Callable[..., Any]:
    @functools.wraps(action)
    def acted(thing: Any, *args: Any, **kwargs: Any) -> Any:
        answer = action(thing, *args, **kwargs)
        if callers.is_by_script() and not callers.is_called_back():
            note((*args, kwargs.get(argument))[0] if argument else thing)
        return answer

    return acted
