"""Environments made of requirements: made under a watch by a process of their own (`installer`), and pip's word where it refuses."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pipelines.domain.errors import Invalid, TidemarkError, Unavailable
from pipelines.sandbox import installer, processes
from pipelines.sandbox.states import timeout_s
from pipelines.storage import users

LOG_FILE = "installer.log"
ERROR = "ERROR: "
MOST_LINES = 4
"""So much of what pip says is shown."""
MOST_CHARACTERS = 2_000
OFFLINE = re.compile("NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError|Temporary failure in name resolution")
CONFLICTING = re.compile("ResolutionImpossible|conflicting dependencies|Double requirement given")
UNKNOWN = re.compile("No matching distribution found|Could not find a version")
CLOSED = re.compile(r"\[Errno 13\] Permission denied")
PYTHON_VARIABLES = "PYTHON"


def make(folder: Path, request: installer.Request, files: Mapping[str, bytes], watch: Callable[[], None]) -> Path:
    """An environment in `folder`, which it names no more once it has been moved to its place. What `watch` raises ends the process.

    Raises Invalid (`environment.unknown`, `.conflict`, `.closed`, `.failed`), Unavailable (`environment.offline`, `sandbox.timeout`).
    """
    installer.write(folder, request, dict(files))
    environ = {name: value for name, value in os.environ.items() if not name.startswith(PYTHON_VARIABLES)}
    command = [sys.executable, "-I", str(Path(installer.__file__))]
    code = processes.run(command, folder, environ, LOG_FILE, watch, timeout_s())
    if code:
        raise refusal((folder / LOG_FILE).read_text(errors="replace"))
    return folder / installer.ENVIRONMENT


def refusal(log: str) -> TidemarkError:
    """The error of an installation that failed, with what pip said last."""
    message = f"The environment of the requirements cannot be made. pip says: {_last_words(log)}"
    if OFFLINE.search(log):
        hint = "Try again when the package index can be reached, or let the requirements name a place on this machine (--find-links)."
        return Unavailable("environment.offline", message, hint)
    if CONFLICTING.search(log):
        return Invalid("environment.conflict", message, "Loosen one of the requirements that contradict each other.")
    if UNKNOWN.search(log):
        return Invalid("environment.unknown", message, "Correct the package's name or its version, or say where it is (--find-links).")
    if CLOSED.search(log) and users.other() is not None:
        hint = f"{users.name()} installs it, and has to be able to read what is named: chmod it, or carry it with the version ({{code}}/…)."
        return Invalid("environment.closed", message, hint)
    return Invalid("environment.failed", message, "Correct the requirements; what they name must install with pip on this machine.")


def _last_words(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.partition(ERROR)[2] for line in lines if ERROR in line]
    return " ".join((errors or lines or ["nothing"])[-MOST_LINES:])[:MOST_CHARACTERS]
