"""Whether a runtime's Spark loads classes, with the jars that a job's confs name: asked of a JVM of it once, and again when a jar has
changed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pipelines.domain.connector_jars import SPARK_JARS
from pipelines.domain.errors import Unavailable
from pipelines.domain.runtimes import Runtime
from pipelines.sandbox import environment, sparks
from pipelines.storage import users

TIMEOUT_S = 60
NO_ANSWER = "its JVM did not answer"
HINT = "Name a Java that fits it (--java-home), and take away jars that are for another Spark."
JAVA_SAYS = "Caused by: "
KEPT = 64
"""Answers that stay."""


def of(runtime: Runtime, jars: Sequence[Path], classes: Sequence[str]) -> Mapping[str, str]:
    """Class -> what is in the way of a Spark with `jars` beside its own that would load it, empty where nothing is.

    Raises Unavailable where no Java fits, and where its JVM does not start (`runtime.no_answer`)."""
    return _asked(runtime, tuple(jars), _marks([sparks.jars(runtime.python), *jars]), tuple(classes))


@lru_cache(KEPT)
def _asked(runtime: Runtime, jars: tuple[Path, ...], marks: tuple[int, ...], classes: tuple[str, ...]) -> Mapping[str, str]:
    words = ["--conf", f"{SPARK_JARS}={','.join(jar.as_uri() for jar in jars)}"] if jars else []
    environ = {**environment.environ("local", runtime), "PYSPARK_SUBMIT_ARGS": shlex.join([*words, "pyspark-shell"])}
    try:
        told = users.ask([*environment.command(runtime.python, "pipelines.driver.loading"), *classes], environ, TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _no_answer(str(error)) from error
    if told.returncode:
        raise _no_answer(_last_word(told.stderr))
    answer: Mapping[str, str] = json.loads(told.stdout.splitlines()[-1])
    return answer


def _no_answer(word: str) -> Unavailable:
    return Unavailable("runtime.no_answer", f"{NO_ANSWER} ({word})", HINT)


def _last_word(said: str) -> str:
    """What Java said last before it ended; else what Python did."""
    lines = said.strip().splitlines() or ["no word"]
    causes = [line.removeprefix(JAVA_SAYS) for line in lines if line.startswith(JAVA_SAYS)]
    return (causes or lines)[-1]


def _marks(places: Sequence[Path | None]) -> tuple[int, ...]:
    """The moments at which they were last changed."""
    return tuple(os.stat(place).st_mtime_ns if place and os.path.exists(place) else 0 for place in places)
