"""Who asks Python for something: the script's own code, by whatever functions and threads, or what runs beside it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from types import FrameType

from pipelines.driver import installed

IMPORTS, IMPORT = "<frozen importlib", "_find_and_load"
"""Python's own code that reads modules, and the function of it that an `import` calls: what else it reads, somebody asks a loader for
(`pkgutil.get_data`, `spec.loader.exec_module`)."""
SPARKS: list[str] = []
"""Folders of what starts Spark for a script, or writes its log, and asks for it whatever that needs."""
LOGS = "logging"
_callers: list[str] = []
_threads: dict[threading.Thread, bool] = {}
"""Those that the script has begun, as a pool's, in which a library may have the last word; and whether what one asks elsewhere is in no
plan: it serves a sink's function, or whatever goes on beside (a daemon, as those are that send traces)."""


def forget() -> None:
    """Before another script."""
    _threads.clear()


def follow(threads: type[threading.Thread]) -> None:
    """Has each thread that the script begins known, from now on."""
    SPARKS.extend(place + os.sep for name in (*installed.SPARK, LOGS) for place in _places(name))
    _callers[:] = [place + os.sep for place in _places(installed.CALLER)]
    start = threads.start

    def begun(self: threading.Thread) -> None:
        if is_by_script(SPARKS):
            for thread in [each for each in list(_threads) if each.ident and not each.is_alive()]:
                _threads.pop(thread, None)
            _threads[self] = self.daemon or is_called_back()
        start(self)

    threads.start = begun  # type: ignore[method-assign]


def is_by_script(others: Sequence[str] = ()) -> bool:
    """Whether the script's code asked last, before Python's imports, `others` and we did."""
    return through(sys._getframe(2), others) is not None


def through(frame: FrameType | None, others: Sequence[str]) -> list[str] | None:
    """The functions through which the script asked last, the one of `frame` first; None where it was not the script."""
    functions: list[str] = []
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith((installed.OURS, *others)) or (file.startswith(IMPORTS) and frame.f_code.co_name == IMPORT):
            return None
        if not file.startswith("<") and installed.is_users(file):
            return functions
        functions.append(frame.f_code.co_name)
        frame = frame.f_back
    return None if _thread() is None else functions


def is_called_back() -> bool:
    """Whether Spark asked for it, of a query that runs: a sink's function (`foreachBatch`), whose batches are in no plan."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(tuple(_callers)):
        frame = frame.f_back
    return frame is not None or bool(_thread())


def _thread() -> bool | None:
    """What is known of the present thread, where the script has begun it."""
    ident = threading.get_ident()
    return next((is_beside for thread, is_beside in list(_threads.items()) if thread.ident == ident and thread.is_alive()), None)


def _places(package: str) -> list[str]:
    spec = find_spec(package)
    return list(spec.submodule_search_locations or ()) if spec is not None else []
