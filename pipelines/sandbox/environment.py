"""What a process that starts Spark is given: the interpreter of its version, our packages on its path, a Java."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pipelines
from pipelines.sandbox.java import java_home

ROOT = Path(pipelines.__file__).resolve().parent.parent
"""What has to be in PYTHONPATH for another interpreter to find our packages."""


def command(python: str, module: str) -> Sequence[str]:
    """Runs `module` with the interpreter `python`; empty means this one."""
    return [python or sys.executable, "-m", module]


def environ(master: str) -> Mapping[str, str]:
    """Ours, with our packages importable and a Java; raises Unavailable where there is none.

    A local master's web page and ports are for this machine alone: Spark would open them to everybody, and its page can kill queries.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1", "JAVA_HOME": _java()}
    if master.startswith("local"):
        found.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return found


@cache
def _java() -> str:
    """Asked once: it starts a Java to hear its version."""
    return str(java_home().path)
