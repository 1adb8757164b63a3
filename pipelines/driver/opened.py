"""The files that a script's own code reads: a configuration, rules, a schema. What it makes of them is in its plans, and in no code."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from pipelines.domain.installed import Installed, unread
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import installed

THE_MACHINES = ("/usr/", "/proc/", "/sys/", "/lib")
IMPORTS = "<frozen importlib"
MADE = os.O_CREAT | os.O_TRUNC
_noted: dict[str, None] = {}
_apart: list[str] = []


def note(spec: RunSpec) -> None:
    """From now on the files are noted that the script opens to read them, by itself or through a library. None of them are those of its
    version, which are compared by their bytes, and what the job writes itself."""
    if not _apart:
        sys.addaudithook(_hear)  # it cannot be taken away again
    _noted.clear()
    own = (str(Path(spec.script).parent), spec.output, spec.checkpoints, spec.warehouse)
    folders = (*own, sys.prefix, sys.base_prefix, os.environ.get("SPARK_HOME", ""))
    _apart[:] = [*THE_MACHINES, *(os.path.realpath(folder) + os.sep for folder in folders if folder)]


def stands(spark: Any, spec: RunSpec) -> Installed:
    """What the run stands on, with what its script has read so far: that is in the plan of the query that starts now."""
    return replace(installed.of(spark, Path(spec.script).parent), files=files())


def files() -> dict[str, str]:
    """Path of each that is still there -> what `Installed.files` has of it as of now."""
    paths = sorted({os.path.realpath(path) for path in list(_noted)})
    return {path: _bytes(path) for path in paths if not path.startswith(tuple(_apart)) and os.path.isfile(path)}


def _bytes(path: str) -> str:
    status = os.stat(path)
    is_owners = not status.st_mode & 0o077
    return ("" if is_owners else installed.sha256(path)) or unread(status.st_size, status.st_ctime_ns)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    """A hook of Python's (`sys.addaudithook`), which hears of all that is opened."""
    if event != "open" or not isinstance(args[0], str | bytes | os.PathLike):
        return
    is_written = isinstance(args[2], int) and (args[2] & MADE or args[2] & os.O_ACCMODE == os.O_WRONLY)
    if not is_written and _is_by_script():
        _noted[os.path.abspath(os.fsdecode(args[0]))] = None


def _is_by_script() -> bool:
    """Whether the script's code asked last, before Python's imports and we did."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith((IMPORTS, installed.OURS)):
            return False
        if not file.startswith("<") and installed.is_users(file):
            return True
        frame = frame.f_back
    return False
