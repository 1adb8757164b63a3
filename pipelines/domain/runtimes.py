"""Runtimes: a Python with its PySpark and its Java, and which of them fit each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.domain.errors import TidemarkError, Unavailable

OLDEST_JAVA = 17
"""PySpark 4 refuses an older Java."""
LAST_WITH_SUBJECT = 23
"""The newest Java with `Subject.getSubject`, which a Hadoop before `FREE_HADOOP` calls; later ones throw at its call (JEP 486)."""
FREE_HADOOP = (3, 5)
OLDEST_SPARK = (3, 5)
"""The driver is tried from this Spark on."""
STATE_SOURCE = (4, 0)
"""The first Spark that reads state as a table (`format("statestore")`)."""
OLDEST_PYTHON = (3, 11)
"""What the driver is written for."""
JAVA_17 = "Debian: apt-get install openjdk-17-jre-headless"
Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Runtime:
    """What a Spark is started with."""

    python: str = ""
    """The interpreter, whose PySpark it is; empty for Tidemark's own."""
    java_home: str = ""
    """JAVA_HOME of its Java; empty: the first that fits its Spark of those that are found."""


OWN = Runtime()


@dataclass(frozen=True)
class Spark:
    """The Spark that an interpreter has, as the names of its jars tell; what is empty they do not."""

    version: str
    hadoop: str

    @property
    def newest_java(self) -> int | None:
        """The newest release of Java that it runs on; None where none is known to be too new."""
        return LAST_WITH_SUBJECT if self.hadoop and numbers(self.hadoop) < FREE_HADOOP else None

    @property
    def javas(self) -> str:
        """`17 to 23`."""
        return f"{OLDEST_JAVA} to {self.newest_java}" if self.newest_java else f"{OLDEST_JAVA} or newer"

    @property
    def reads_state(self) -> bool:
        """Whether it has a reader of state."""
        return not self.version or numbers(self.version) >= STATE_SOURCE


def numbers(version: str) -> Numbers:
    """The first two numbers of a version; (0, 0) of one that has none."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def is_other(before: str, now: str) -> bool:
    """Whether two Sparks are of different releases, patches apart; nothing is said of one whose version is not known."""
    return bool(before and now) and numbers(before) != numbers(now)


def problems(python: str, python_version: str, spark: Spark | None) -> Iterator[TidemarkError]:
    """Why no job runs with the interpreter, whatever its Java is. `python_version` is empty where that is not known."""
    if spark is None:
        hint = f"Install it there: {python} -m pip install pyspark. Or name the Python of an environment that has it."
        yield Unavailable("runtime.no_spark", f"The Python {python} has no PySpark", hint)
    elif spark.version and numbers(spark.version) < OLDEST_SPARK:
        hint = f"Install PySpark {'.'.join(map(str, OLDEST_SPARK))} or newer in it."
        yield Unavailable("runtime.old_spark", f"The Python {python} has PySpark {spark.version}, which is too old for the driver", hint)
    if python_version and numbers(python_version) < OLDEST_PYTHON:
        needs = ".".join(map(str, OLDEST_PYTHON))
        hint = f"Make an environment with Python {needs} or newer, and install the same PySpark in it."
        yield Unavailable("runtime.old_python", f"The Python {python} is {python_version}, and the driver needs {needs}", hint)


def no_java(spark: Spark, seen: Sequence[str], hint: str) -> Unavailable:
    """No Java fits. `seen` are those that there are, `25.0.2 in /opt/java`."""
    there = f": there is {', '.join(seen)}" if seen else ""
    why = "; a newer one has no `getSubject`, which its Hadoop calls" if spark.newest_java else ""
    message = f"PySpark {spark.version} runs on Java {spark.javas}{there}{why}"
    return Unavailable("java.does_not_fit" if seen else "java.not_found", message, hint)
