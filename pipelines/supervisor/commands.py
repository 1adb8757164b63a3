"""The command and the environment that a driver is started with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.versions import Version
from pipelines.sandbox import environment


@dataclass(frozen=True)
class Driver:
    """A way to start drivers: `command` gets the run's folder as its last argument."""

    command: Callable[[Version], Sequence[str]]
    environ: Callable[[Version], Mapping[str, str]]


def spark_command(version: Version) -> Sequence[str]:
    return environment.command(version.python, "pipelines.driver")


def spark_environ(version: Version) -> Mapping[str, str]:
    """Raises Unavailable where there is no Java."""
    return environment.environ(version.master)


SPARK = Driver(spark_command, spark_environ)
