"""The command and the environment that a driver is started with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.versions import Version
from pipelines.sandbox import environment


@dataclass(frozen=True)
class Driver:
    """A way to start drivers: `command` gets the run's folder as its last argument; `started` is told that one has been started."""

    command: Callable[[Version], Sequence[str]]
    environ: Callable[[Version], Mapping[str, str]]
    started: Callable[[Version], None] = lambda version: None
    module: str = ""
    """The module that a warm Spark process runs as such a driver; empty where none can."""


MODULE = "pipelines.driver"


def spark_command(version: Version) -> Sequence[str]:
    return environment.command(version.python, MODULE)


def spark_environ(version: Version) -> Mapping[str, str]:
    """Raises Unavailable where no Java fits."""
    return environment.environ(version.master, version.runtime)


def spark_started(version: Version) -> None:
    """Lets later drivers start faster."""
    environment.keep_classes(version.runtime)


SPARK = Driver(spark_command, spark_environ, spark_started, MODULE)
