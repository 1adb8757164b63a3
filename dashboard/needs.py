"""What an environment needs before Tidemark, or its tests, can run in it, judged by its files. Standard library only."""

from __future__ import annotations

import contextlib
import enum
import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

STAMP = "tidemark-ready.json"
UNFINISHED = "tidemark-unfinished"
FOR_TESTS = "# Its tests"
"""The line of the requirements behind which those are that tests alone need."""


class Need(enum.Enum):
    """The work that an environment needs."""

    NOTHING = enum.auto()
    INSTALL = enum.auto()
    CREATE = enum.auto()


@dataclass(frozen=True)
class Wanted:
    """The Python, requirements and folder that an environment must be made for; the folder counts because its scripts carry its path."""

    python: str
    requirements: str
    tests: str
    """Digest of what tests need beyond that; empty for an environment without."""
    folder: str

    def as_json(self) -> dict[str, str]:
        return {"python": self.python, "requirements": self.requirements, "tests": self.tests, "folder": self.folder}


def wanted(venv: Path, requirements: Path, *, tests: bool) -> Wanted:
    """The `Wanted` of this Python for `venv`."""
    system, further = parts(requirements)
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return Wanted(python, _digest(system), _digest(further) if tests else "", str(venv))


def parts(requirements: Path) -> tuple[str, str]:
    """What Tidemark needs, and what its tests need beyond that."""
    system, _, further = requirements.read_text().partition(FOR_TESTS)
    return system, further


def _digest(lines: str) -> str:
    return hashlib.sha256(lines.encode()).hexdigest()


def need(venv: Path, want: Wanted) -> Need:
    """The work that `venv` needs, judged by its files."""
    if not (venv / "bin" / "python").exists() or (venv / UNFINISHED).exists() or _made_by(venv) != want.python:
        return Need.CREATE
    stamp = _stamp(venv)
    if all(stamp.get(name) == value for name, value in want.as_json().items() if value):
        return Need.NOTHING
    return Need.CREATE if stamp and stamp.get("folder") != want.folder else Need.INSTALL


def _made_by(venv: Path) -> str:
    """The `3.11` of the Python that made `venv`, as its pyvenv.cfg says; empty if it does not."""
    with contextlib.suppress(FileNotFoundError):
        for line in (venv / "pyvenv.cfg").read_text().splitlines():
            key, _, value = line.partition("=")
            if key.strip() in ("version", "version_info"):
                return ".".join(value.strip().split(".")[:2])
    return ""


def _stamp(venv: Path) -> dict[str, str]:
    """The stamp of `venv`: Python, requirements, folder; empty if there is none, or it was cut short."""
    try:
        stamp = json.loads((venv / STAMP).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return stamp if isinstance(stamp, dict) else {}
