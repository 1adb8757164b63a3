"""What a driver is started with: its command and its environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pipelines
from pipelines.domain.versions import Version
from pipelines.sandbox.java import java_home

ROOT = Path(pipelines.__file__).resolve().parent.parent
"""What has to be in PYTHONPATH for another interpreter to find the driver."""


@dataclass(frozen=True)
class Driver:
    """A way to start drivers: `command` gets the run's folder as its last argument."""

    command: Callable[[Version], Sequence[str]]
    environ: Callable[[Version], Mapping[str, str]]


def spark_command(version: Version) -> Sequence[str]:
    return [version.python or sys.executable, "-m", "pipelines.driver"]


def spark_environ(version: Version) -> Mapping[str, str]:
    """Ours, with the driver importable and a Java; raises Unavailable where there is none.

    A local master's web page and ports are for this machine alone: Spark would open them to everybody, and its page can kill queries.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1", "JAVA_HOME": _java()}
    if version.master.startswith("local"):
        environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return environ


@cache
def _java() -> str:
    """Asked once: it starts a Java to hear its version."""
    return str(java_home().path)


SPARK = Driver(spark_command, spark_environ)
