"""A JVM that runs already, for the next Spark that its Python process begins: where that Spark would have started the same JVM.

PySpark starts a JVM with its first context (`launch_gateway`) and keeps it when the context is stopped. What Spark is told by
`--conf` are system properties of that JVM, which a new context reads; so a JVM without a context takes the confs of any session. What
holds for the whole JVM (memory, class path, jars, the confs of Hadoop's file systems, the environment) has to be what it was started
with: a Spark that needs another one gets another one.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.domain.masters import is_local
from pipelines.domain.references import REDACTION, within
from pipelines.sandbox.requests import MARK

SUBMIT = "PYSPARK_SUBMIT_ARGS"
SESSION = ("spark.sql.", "spark.hadoop.javax.jdo.", "spark.eventLog.", "spark.tidemark.")
"""Prefixes of confs that a new context reads."""
ALSO = ("spark.app.name", "spark.ui.enabled", "spark.ui.showConsoleProgress", "spark.log.level", REDACTION)
NOT = ("spark.sql.hive.", "spark.sql.extensions", "spark.sql.catalog", "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage")
"""Prefixes of those that name classes to load, or are kept by the JVM from its first context on."""
STANDS = "TIDEMARK_STANDS"
"""The variable that has Python workers stand in a folder; without it they stand where the JVM was started."""
WORKERS = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "TIDEMARK_PYTHON", MARK, STANDS)
"""Variables that Spark's Python workers inherit from the JVM, and that a context can give them as well."""
PYTHON = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", SUBMIT)
"""Variables that PySpark reads in the Python process."""
MASTER, NAME, CONF, END = "--master", "--name", "--conf", "pyspark-shell"


def launch_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """Those of the confs that hold for a whole JVM; secrets are told to one that runs."""
    return {key: value for key, value in conf.items() if not _is_the_sessions(key) and not within(value)}


def _is_the_sessions(key: str) -> bool:
    return key in ALSO or (key.startswith(SESSION) and not key.startswith(NOT))


class Gateway:
    """The JVM of this process, started at once; from then on PySpark is given it wherever it fits."""

    def __init__(self, master: str, conf: Mapping[str, str]) -> None:
        """`conf`: what `launch_conf` names. Raises what PySpark raises where the JVM does not start."""
        from pyspark import SparkContext, java_gateway

        self._master, self._conf = master, dict(conf)
        self._before: dict[str, str | None] = {}
        os.environ[SUBMIT] = shlex.join([MASTER, master, *_conf_arguments(conf), END])
        self._launch = java_gateway.launch_gateway
        try:
            self._gateway = self._launch()
        finally:
            del os.environ[SUBMIT]
        self._environ = dict(os.environ)
        sys.modules[SparkContext.__module__].launch_gateway = self._given  # type: ignore[attr-defined]
        self._has_moved = False
        self.has_strayed = False
        """Whether a session got another JVM."""

    def take_back(self) -> None:
        """Ends the context and takes back what changed in the environment (PySpark notes some confs there), so that the next one begins
        anew."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._active_spark_context is not None:
            (SparkSession._instantiatedSession or SparkContext._active_spark_context).stop()
        SparkContext._gateway = SparkContext._jvm = None
        os.environ.clear()
        os.environ.update(self._environ)

    def move(self, folder: str) -> None:
        """Has the JVM find relative paths in `folder`, with nothing kept of what it did before; one that has ended finds nothing.

        Hadoop's local file system takes its working directory from the property when it is made; the state stores of a context that ended
        would stay loaded until Spark's maintenance looks after them.
        """
        self._has_moved = True
        if self.has_strayed:
            return
        jvm = self._gateway.jvm
        jvm.java.lang.System.setProperty("user.dir", folder)
        jvm.org.apache.hadoop.fs.FileSystem.closeAll()
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()

    def _given(self, conf: Any = None, popen_kwargs: Any = None) -> Any:
        """What PySpark calls for a JVM. A script's own conf comes first, as on spark-submit's command line."""
        words = _parsed(os.environ.get(SUBMIT, END))
        confs = None if words is None else {**dict(conf.getAll() if conf else ()), **words}
        if self.has_strayed or confs is None or popen_kwargs or not self._fits(confs):
            self._end()
            return self._launch(conf, popen_kwargs)
        self._set({**confs, **self._for_workers()})
        return self._gateway

    def _end(self) -> None:
        """Ends the JVM, which nothing else will be given; does nothing where it has ended."""
        if not self.has_strayed:
            self.has_strayed = True
            self._gateway.shutdown()
            self._gateway.proc.stdin.close()

    def _fits(self, conf: Mapping[str, str]) -> bool:
        launch = launch_conf(conf)
        master = launch.pop("spark.master", self._master)
        runs_here = is_local(master) and is_local(self._master)
        same = {name: value for name, value in os.environ.items() if name not in (*WORKERS, *PYTHON)}
        before = {name: value for name, value in self._environ.items() if name not in (*WORKERS, *PYTHON)}
        finds_it = not self._has_moved or STANDS in os.environ
        return runs_here and finds_it and launch == self._conf and same == before

    def _for_workers(self) -> dict[str, str]:
        changed = {name: os.environ[name] for name in WORKERS if os.environ.get(name, "") != self._environ.get(name, "")}
        return {f"spark.executorEnv.{name}": value for name, value in changed.items()}

    def _set(self, properties: Mapping[str, str]) -> None:
        """Sets system properties of the JVM, after those of the session before were taken back."""
        system = self._gateway.jvm.java.lang.System
        for key, value in self._before.items():
            if value is None:
                system.clearProperty(key)
            else:
                system.setProperty(key, value)
        self._before = {key: system.setProperty(key, value) for key, value in properties.items()}


def _conf_arguments(conf: Mapping[str, str]) -> Iterator[str]:
    for key, value in sorted(conf.items()):
        yield from (CONF, f"{key}={value}")


def _parsed(arguments: str) -> dict[str, str] | None:
    """The confs of spark-submit's arguments; None where they say more than confs."""
    words, conf = shlex.split(arguments), dict[str, str]()
    if not words or words.pop() != END or len(words) % 2:
        return None
    for option, value in zip(words[::2], words[1::2], strict=True):
        key, has_value, text = value.partition("=")
        if option == CONF and has_value:
            conf[key] = text
        elif option in (MASTER, NAME):
            conf["spark.master" if option == MASTER else "spark.app.name"] = value
        else:
            return None
    return conf
