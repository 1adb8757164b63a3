"""Command and environment of a process that starts Spark: the interpreter of its version, our packages on its path, a Java."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

from pipelines.domain.runtimes import Runtime, Spark
from pipelines.sandbox import classes, sparks
from pipelines.sandbox.java import JavaHome, java_home
from pipelines.storage import users

ROOT = classes.ROOT


def command(python: str, module: str) -> Sequence[str]:
    """Runs `module` with the interpreter `python`; empty means this one."""
    return [python or sys.executable, "-m", module]


_inherited: Mapping[str, str] | None = None


@contextmanager
def inheriting() -> Iterator[None]:
    """Within it Sparks inherit this process's variables as they are now: what its libraries set later is not for them, and would make of
    each warm process one of another kind (Streamlit sets one as it begins to serve)."""
    global _inherited
    _inherited = dict(os.environ)
    try:
        yield
    finally:
        _inherited = None


def inherited() -> Mapping[str, str]:
    """The variables that Sparks inherit."""
    return os.environ if _inherited is None else _inherited


def of_code() -> Mapping[str, str]:
    """The variables that a job's code finds, but for those of one process."""
    given = inherited()
    return users.environ({**given, **_locale(given)})


def environ(master: str, runtime: Runtime) -> Mapping[str, str]:
    """What Sparks inherit, for a Spark of `runtime`, with our packages importable and a Java that fits it.

    Raises Unavailable where there is none.

    A local master's web page and ports are for this machine alone: Spark would open them to everybody, and its page can kill queries.
    """
    given = inherited()
    java = java_of(runtime)
    named = {"JAVA_HOME": str(java.path), classes.SUBMIT_OPTIONS: classes.submit_options(java, runtime.python, given)}
    variables = {**given, "PYTHONPATH": classes.python_path(given), "PYTHONUNBUFFERED": "1", **named, **_locale(given)}
    if master.startswith("local"):
        variables.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return variables


def _locale(environ: Mapping[str, str]) -> Mapping[str, str]:
    """A locale in which Java reads file names as UTF-8, where ours is none: it finds no folder else with letters beyond ASCII."""
    name = next(filter(None, map(environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    return {} if "utf" in name.lower() else {"LC_ALL": "C.UTF-8"}


def brief(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The same for a Spark that lives for seconds; what the user's own options say of it holds."""
    return {**environ, classes.SUBMIT_OPTIONS: f"{classes.UNPOLISHED} {environ[classes.SUBMIT_OPTIONS]}".strip()}


def keep_classes(runtime: Runtime) -> None:
    """Lets later Sparks of this runtime start faster; raises Unavailable where no Java fits it."""
    classes.make_beside(java_of(runtime), runtime.python)


def java_of(runtime: Runtime) -> JavaHome:
    """The Java that Sparks of `runtime` get; raises Unavailable where none fits. Looked up once: finding its version starts it."""
    return _java(runtime.java_home, sparks.of(runtime.python), os.environ.get("JAVA_HOME", ""))


@cache
def _java(named: str, spark: Spark | None, environments: str) -> JavaHome:
    """`environments`: JAVA_HOME of the environment, which it looks at first."""
    return java_home(spark=spark, named=named)
