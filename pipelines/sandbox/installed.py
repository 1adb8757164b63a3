"""What an interpreter has installed now: asked of it once, and again when one of its folders has changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.domain.installed import Installed
from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import environment
from pipelines.storage import users

TIMEOUT_S = 60


@dataclass(frozen=True)
class _Answer:
    installed: Installed
    folders: tuple[str, ...]
    marks: tuple[int, ...]


_ANSWERS: dict[Runtime, _Answer] = {}


def of(runtime: Runtime) -> Installed | None:
    """What is installed for drivers on `runtime`; None where its interpreter does not answer.

    Raises Unavailable where no Java fits. Whatever is installed, upgraded or removed changes the folder that it is in."""
    answer = _ANSWERS.get(runtime)
    if answer is None or answer.marks != _marks(runtime.python, answer.folders):
        answer = _ask(runtime)
        if answer is None:
            return None
        _ANSWERS[runtime] = answer
    return answer.installed


def _ask(runtime: Runtime) -> _Answer | None:
    command, environ = environment.command(runtime.python, "pipelines.driver.installed"), environment.environ("", runtime)
    try:
        told = users.ask(command, environ, TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if told.returncode:
        return None
    raw = json.loads(told.stdout)
    folders = tuple(raw["folders"])
    installed = Installed(raw["python"], environment.java_of(runtime).version, raw["packages"], time_zone=raw["time_zone"])
    return _Answer(installed, folders, _marks(runtime.python, folders))


def _marks(python: str, folders: Sequence[str]) -> tuple[int, ...]:
    """The moments at which the interpreter and its folders were last changed."""
    program = os.path.realpath(shutil.which(python or sys.executable) or python)
    return tuple(os.stat(place).st_mtime_ns if os.path.exists(place) else 0 for place in (program, *folders))
