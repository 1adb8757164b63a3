"""Runs the scripts of the sides one after the other in one process and one JVM, each as if it were alone, and answers with their plans."""

from __future__ import annotations

import json
import os
import platform
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pipelines.domain.installed import merged
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.plannings import NEW, RESULT_FILE, TASK_FILE, Failure, Planned, Planning, PlanTask
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import (
    failures,
    fetched,
    installed,
    intercept,
    opened,
    outside,
    records,
    rehearsal,
    run,
    secret_values,
    sql_script,
    submit,
)
from pipelines.driver.connect import importing
from pipelines.driver.intercept import Asked, Launch
from pipelines.driver.planning import hadoop_conf
from pipelines.driver.planning.alone import alone
from pipelines.driver.planning.planner import Planner, Unknown
from pipelines.driver.planning.uses import Uses
from pipelines.driver.script_threads import Idleness, ScriptThreads, in_turn

PATIENCE_S = 10.0
"""A script that starts no other query for so long is taken to have started all; while one with state is missing, if it idles so long."""
MOST_S = 90.0
"""So long at most, although it does something all the time."""
LOOK_S = 1.0
PYTHONPATH = "PYTHONPATH"


class Over(BaseException):
    """Ends a script whose queries are planned."""


class NotStarted:
    """What a script gets for a query that was planned: one that is over."""

    isActive, lastProgress, recentProgress, id, runId = False, None, (), "", ""
    status = {"message": "planned", "isDataAvailable": False, "isTriggerActive": False}

    def __init__(self, name: str, over: Callable[[], None]) -> None:
        self.name = name
        self._over = over

    def awaitTermination(self, timeout: float | None = None) -> bool:
        self._over()
        return True

    def stop(self) -> None: ...

    def processAllAvailable(self) -> None: ...

    def exception(self) -> None: ...


def plan(folder: Path) -> int:
    """Plans the sides of the task in `folder`; the exit code."""
    task = rebuilt(PlanTask, json.loads((folder / TASK_FILE).read_text()))
    specs = {side: run.read_spec(folder / side) for side in task.sides}
    submit.prepare(specs[task.sides[0]], os.environ, folder)
    rehearsal.protect()
    stage = Stage()
    stage.install()
    points = {point.query: point for point in task.points}
    moment = random.SystemRandom().randrange(1, 2**40)
    answer, takes_apart = Planning(), task.takes_apart
    try:
        for side, spec in specs.items():
            planner = Planner(spec, folder / side, points, side == NEW, moment, takes_apart)
            planned = stage.play(spec, planner)
            takes_apart = planner.takes_apart
            answer = replace(answer, sides={**answer.sides, side: planned})
    except Unknown as unknown:
        answer = replace(answer, unsupported=secret_values.shown(str(unknown)))
    answer = replace(answer, spark_version=_spark_version(), python_version=platform.python_version())
    answer = replace(answer, java_version=_java_version(), time_zone=installed.time_zone())
    records.replace_whole(folder / RESULT_FILE, json.dumps(asdict(answer)))
    stage.end()
    return 0


class Stage:
    """Where scripts play: PySpark with a `start` that plans, and without an end."""

    def __init__(self) -> None:
        self._planner: Planner | None = None
        self._spec: RunSpec | None = None
        self._stops: tuple[Any, Any] | None = None
        self._told: set[str] = set()
        """Names of the confs of the sides so far."""
        self._threads = ScriptThreads()
        self._raised: BaseException | None = None
        """In a thread that the script started, where nobody else hears of it."""
        self._idleness, self._quiet_since_s = Idleness(), 0.0

    def install(self) -> None:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
        from pyspark.sql.streaming.query import StreamingQueryManager

        begin, self._stops = SparkSession.__init__, (SparkContext.stop, SparkSession.stop)

        def begun(session: Any, *args: Any, **kwargs: Any) -> None:
            begin(session, *args, **kwargs)
            hadoop_conf.note()
            session.sparkContext.environment[PYTHONPATH] = self._spec.code if self._spec else ""

        SparkSession.__init__ = begun
        SparkContext.stop = SparkSession.stop = lambda session: None
        StreamingQueryManager.awaitAnyTermination = self._await_any
        intercept.install(in_turn(self._start, threading.RLock()))
        SparkSession.Builder.remote = _out_of_reach
        importing.install(_out_of_reach)
        signal.signal(signal.SIGALRM, self._late)
        threading.excepthook = self._failed_thread

    def end(self) -> None:
        """Spark can be stopped again. Nobody waits for that: the process ends, and its JVM with it."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        if self._stops is not None:
            SparkContext.stop, SparkSession.stop = self._stops

    def play(self, spec: RunSpec, planner: Planner) -> Planned:
        """Runs one script to its end, or until its queries are planned."""
        self._spec, self._planner, self._threads, self._raised = spec, planner, ScriptThreads(), None
        with alone(spec, self._told), Uses(Path(spec.script).parent) as uses:
            opened.note(spec)
            fetched.install()
            failure = self._played(spec) or self._thread_failure(spec, planner)
            files = merged(uses.files(), opened.files())
            return Planned(tuple(planner.planned), failure, uses.packages(), files, opened.variables(), opened.asked())

    def _played(self, spec: RunSpec) -> Failure | None:
        try:
            secret_values.hide(spec)
            outside.check(spec.outside)
            submit.enter(spec)
            sql_script.execute(spec)
            self._threads.wait(threading.Event())
        except Over:
            return None
        except Unknown:
            raise
        except SystemExit as ended:
            if ended.code in (None, 0):
                return None
            failed = failures.of_exit(ended)
            return Failure(failed.error_class, failed.message)
        except BaseException as error:  # noqa: BLE001  a script may raise anything; it is the answer
            traceback.print_exc()
            failed = failures.of_exception(error, spec.script)
            return Failure(failed.error_class, failed.message)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return None

    def _failed_thread(self, hooked: threading.ExceptHookArgs) -> None:
        if hooked.thread in self._threads and not isinstance(hooked.exc_value, Over):
            traceback.print_exception(hooked.exc_value)
            self._raised = self._raised or hooked.exc_value

    def _thread_failure(self, spec: RunSpec, planner: Planner) -> Failure | None:
        """What ended a thread that had to start a query; raises Unknown where it was our planning."""
        if isinstance(self._raised, Unknown):
            raise self._raised
        if self._raised is None or planner.is_complete:
            return None
        failed = failures.of_exception(self._raised, spec.script)
        return Failure(failed.error_class, failed.message)

    def _start(self, writer: Any, request: Asked, launch: Launch) -> NotStarted:
        assert self._planner is not None
        if threading.current_thread() not in self._threads:
            raise Over  # in a thread of the other side's script
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            name = self._planner.start(writer, request, launch)
        except Unknown as unknown:
            self._raised = unknown
            raise
        self._idleness, self._quiet_since_s = Idleness(), time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
        return NotStarted(name, self._over)

    def _over(self) -> None:
        if self._planner is not None and self._planner.is_complete:
            raise Over

    def _await_any(self, timeout: float | None = None) -> bool:
        self._over()
        return True

    def _late(self, number: int, frame: Any) -> None:
        idle_s, quiet_s = self._idleness.seconds(), time.monotonic() - self._quiet_since_s
        is_complete = self._planner is not None and self._planner.is_complete
        if idle_s > PATIENCE_S or quiet_s > (PATIENCE_S if is_complete else MOST_S):
            raise Over


def _out_of_reach(*_: Any) -> Any:
    raise Unknown("its queries run on a Spark Connect server, whose plans are out of reach")


def _java_version() -> str:
    from pyspark import SparkContext

    return str(SparkContext._jvm.java.lang.System.getProperty("java.version")) if SparkContext._jvm is not None else ""


def _spark_version() -> str:
    import pyspark

    return str(pyspark.__version__)
