"""`python -m tests.kept_jvms MODULE FOLDER`: runs a module of ours, as `python -m MODULE FOLDER` does, with a kept JVM where one fits."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipelines.driver import callers
from pipelines.sandbox import gateway, temporary
from pipelines.sandbox.classes import SUBMIT_OPTIONS, quoted
from pipelines.sandbox.requests import MARK
from tests.kept_jvms.jvm import BYTES, GIVEN_BACK, SOCKET, Jvm, encoded

THEIRS = (*gateway.WORKERS, *gateway.PYTHON, MARK, "PYTEST_CURRENT_TEST")
"""Variables that a JVM makes nothing of: those of Python, which a context gives its workers, and marks."""
TEMPORARY = re.compile(rf'"?{temporary.NAMED}[^" ]*"?')
SPARK = find_spec("pyspark").origin  # type: ignore[union-attr]
"""Another interpreter may have another Spark, and has JVMs of its own then."""
LEASE = "tidemark.lease."
PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
"""Variables with which PySpark reaches a JVM that runs."""


class Lease:
    """The JVM of this process, from when PySpark asks for one."""

    def __init__(self) -> None:
        from pyspark import SparkContext, java_gateway

        self._launch = java_gateway.launch_gateway
        self._keeper: socket.socket | None = None
        sys.modules[SparkContext.__module__].launch_gateway = self._given  # type: ignore[attr-defined]

    def give_back(self) -> None:
        """Ends the context, as the end of a JVM would, and lets another driver have the JVM."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        if self._keeper is None or SparkContext._jvm is None:
            return
        jvm = SparkContext._jvm
        if SparkContext._active_spark_context is not None:
            (SparkSession._instantiatedSession or SparkContext._active_spark_context).stop()
        jvm.SparkSession.clearDefaultSession()
        jvm.SparkSession.clearActiveSession()
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
        _end_leases(jvm)
        self._keeper.send(GIVEN_BACK.encode())

    def _given(self, conf: Any = None, popen_kwargs: Any = None) -> Any:
        """What PySpark calls for a JVM; one that has to be told more than confs, and a second one, it starts itself."""
        words = gateway._parsed(os.environ.get(gateway.SUBMIT, gateway.END))
        if words is None or popen_kwargs or self._keeper is not None:
            return self._launch(conf, popen_kwargs)
        confs = {**dict(conf.getAll() if conf else ()), **words}
        launch = gateway.launch_conf(confs)
        self._keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._keeper.connect(os.environ[SOCKET])
        self._keeper.send(json.dumps([SPARK, launch, _environ()], sort_keys=True).encode())
        kept = json.loads(self._keeper.recv(BYTES))
        reached, jvm = self._reached(Jvm(*kept)) if kept else self._started(launch)
        _tell(reached, jvm.properties, {**confs, **_of_workers()})
        return reached

    def _reached(self, jvm: Jvm) -> tuple[Any, Jvm]:
        """Ids of Python objects begin where no process before has been: the JVM still says of those when it is done with them."""
        with _environment({**os.environ, PORT: str(jvm.port), SECRET: jvm.secret}):
            reached = self._launch()
        reached.gateway_property.pool.next_id = os.getpid() * 1_000_000
        return reached, jvm

    def _started(self, launch: Mapping[str, str]) -> tuple[Any, Jvm]:
        """As PySpark starts it, but in a session and a folder of its own and without this run's mark: it outlives all of them."""
        assert self._keeper is not None
        home = Path(os.environ[SOCKET]).parent
        confs = [word for key, value in launch.items() for word in (gateway.CONF, f"{key}={value}")]
        environ = {name: value for name, value in os.environ.items() if name != MARK}
        environ[gateway.SUBMIT] = shlex.join([*confs, gateway.END])
        environ[SUBMIT_OPTIONS] = f"{quoted(f'{temporary.NAMED}{home}')} {_without_temporary(environ)}"
        with _environment(environ), (home / "jvms.log").open("ab") as log:
            reached = self._launch(None, {"cwd": home, "start_new_session": True, "stdout": log, "stderr": subprocess.STDOUT})
        properties = {name: value for name, value in _properties(reached).items() if name.startswith("spark.")}
        java = reached.java_parameters
        jvm = Jvm(reached.proc.pid, java.port, java.auth_token, properties)
        socket.send_fds(self._keeper, [json.dumps(encoded(jvm)).encode()], [reached.proc.stdin.fileno()])
        return reached, jvm


@contextmanager
def _environment(environ: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(environ)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _environ() -> dict[str, str]:
    """What the JVM's life depends on; each run's temporary folder goes with the run, so a JVM has another one."""
    return {name: value for name, value in os.environ.items() if name not in THEIRS} | {SUBMIT_OPTIONS: _without_temporary(os.environ)}


def _without_temporary(environ: Mapping[str, str]) -> str:
    return " ".join(TEMPORARY.sub("", environ.get(SUBMIT_OPTIONS, "")).split())


def _of_workers() -> dict[str, str]:
    return {f"spark.executorEnv.{name}": os.environ[name] for name in (*gateway.WORKERS, MARK) if name in os.environ}


def _properties(reached: Any) -> dict[str, str]:
    return dict(reached.jvm.java.lang.System.getProperties())


def _names(jvm: Any) -> list[str]:
    """Of all system properties, in a few calls: to go through them takes three for each."""
    return str(jvm.java.lang.String.join("\n", jvm.java.lang.System.getProperties().keySet())).split("\n")


def _end_leases(jvm: Any) -> None:
    """Gives up the locks of checkpoints, which a driver leaves to the end of its JVM (`driver.lease`)."""
    properties = jvm.java.lang.System.getProperties()
    for name in [name for name in _names(jvm) if name.startswith(LEASE)]:
        properties.remove(name).acquiredBy().close()


def _tell(reached: Any, started: Mapping[str, str], confs: Mapping[str, str]) -> None:
    """Sets what `--conf` would have said; nothing that an earlier driver was told stays."""
    system = reached.jvm.java.lang.System
    for name in _names(reached.jvm):
        if name.startswith("spark.") and name not in started:
            system.clearProperty(name)
    for name, value in {**started, **confs}.items():
        system.setProperty(name, value)


def main(module: str, folder: str) -> int:
    """The module's exit code."""
    lease = Lease()
    callers.SPARKS.append(f"{Path(__file__).parent}{os.sep}")
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]  # a driver notes what modules it stands on
    sys.argv = [module, folder]
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    lease.give_back()
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
