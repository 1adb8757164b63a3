"""Logs of real drivers: a log4j2 configuration of the job's own, one that log4j2 cannot use, a log in JSON, another level while it runs;
and Spark's own history server over the event logs of a driver that was killed, and of one that ended and whose log was cut."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.event_logs import ENABLED, FOLDER, MOST
from pipelines.domain.jobs import Run
from pipelines.domain.json_text import read_json
from pipelines.domain.log_configuration import STRUCTURED
from pipelines.domain.log_levels import Level
from pipelines.domain.logs import LogLevel
from pipelines.domain.restart_strategies import Strategy
from pipelines.domain.runs import LOG_FILE, RunState
from pipelines.driver.event_log import EventLog
from pipelines.driver.records import Records
from pipelines.verbs.face import do
from pipelines.verbs.history import OpenHistory
from pipelines.verbs.jobs import SearchLog
from pipelines.verbs.log_level import SetLogLevel, ShowLogLevels
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from pipelines.verbs.system import ListEvents
from tests.driver.process import CONF
from tests.waiting import until
from tests.workspace.serving import Server, serving
from tests.workspace.test_log_configurations import PROPERTIES

CODE = """
import logging

from pyspark.sql import SparkSession

logging.getLogger("of Python").warning("a word of Python's")

spark = SparkSession.builder.getOrCreate()
spark._jvm.org.apache.logging.log4j.LogManager.getLogger("Job").warn("a word of its own")
rates = spark.readStream.format("rate").load()
rates.writeStream.queryName("rates").format("noop").trigger(processingTime="200 milliseconds").start().awaitTermination()
"""
SHORT = "from pyspark.sql import SparkSession\nSparkSession.builder.getOrCreate()\n"
QUIET = {key: value for key, value in CONF.items() if key != "spark.log.level"}
HADOOP, STREAMING = "org.apache.hadoop", "org.apache.spark.sql.execution.streaming"
MINE = PROPERTIES.replace("%d{ISO8601} [%p]", "MINE [%p] %c")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "my logs #1 (ä)") as running:
        yield running


def folder(server: Server, run: Run) -> Path:
    return server.face.layout.run(run.job, run.id)


def log(server: Server, job: str) -> str:
    path = folder(server, server.newest(job)) / LOG_FILE
    return path.read_text() if path.exists() else ""


def begin(server: Server, name: str, conf: dict[str, str], code: str = CODE, **files: str) -> None:
    given = {file.replace("_", "."): text for file, text in files.items()}
    do(server.face, RunScript(name=name, script="job.py", code=code, conf={**QUIET, **conf}, files=given))
    do(server.face, SetRestartStrategy(name, Strategy.NONE))


@pytest.mark.spark
def test_logs_of_real_drivers(server: Server) -> None:
    begin(server, "mine", {ENABLED: "true", "spark.eventLog.compress": "false"}, log4j2_properties=MINE)
    begin(server, "json", {ENABLED: "true", STRUCTURED: "true"})
    do(server.face, SetLogLevel("json", Level.ERROR, HADOOP))
    until(lambda: server.batch("mine") >= 0 and server.batch("json") >= 0, what=log(server, "mine"))
    assert "MINE [INFO] org.apache.spark.SparkContext" in log(server, "mine"), "what PySpark calls a shell shows no less than it says"
    levels(server)
    do(server.face, Stop("mine", savepoint=False))
    kill(server.newest("json"))
    until(lambda: server.newest("json").state is RunState.FAILED and server.newest("mine").state is RunState.STOPPED)
    (entry,) = server.face.ask(SearchLog("json", text="a word of its own")).entries
    assert entry.level is LogLevel.WARNING and entry.at_ms and entry.text.endswith("WARN Job: a word of its own")
    (entry,) = server.face.ask(SearchLog("mine", text="a word of Python's")).entries
    assert entry.level is LogLevel.WARNING and entry.at_ms and entry.text.endswith("WARNING of Python: a word of Python's")
    begin(server, "broken", {}, code=SHORT, log4j2_yaml="Configuration: [")
    begin(server, "unknown", {}, code=SHORT, log4j2_properties=MINE.replace("= Console", "= Konsole"))
    for job, state in (("broken", RunState.FAILED), ("unknown", RunState.FINISHED)):
        until(lambda job=job: not server.newest(job).state.live, what=log(server, job))  # type: ignore[misc]
        assert server.newest(job).state is state, log(server, job)
        assert "log4j.failed" in [event.kind for event in server.face.ask(ListEvents(job))]
    history(server)


def kill(run: Run) -> None:
    """The JVM first: one that sees its Python go ends in order, its event log too."""
    driver = psutil.Process(run.pid)
    for process in (*driver.children(recursive=True), driver):
        process.kill()


def levels(server: Server) -> None:
    """Of a logger and of the whole log, and back; what was asked for before there was a Spark is set, too."""
    until(lambda: server.face.ask(ShowLogLevels("json")).at_ms is not None)
    assert [(logger.logger, logger.level) for logger in server.face.ask(ShowLogLevels("json")).loggers] == [(HADOOP, "ERROR")]
    changed = do(server.face, SetLogLevel("mine", Level.DEBUG, STREAMING))
    assert changed.configuration.endswith("log4j2.properties")
    assert [(logger.logger, logger.level) for logger in changed.loggers] == [(STREAMING, "DEBUG")] and changed.at_ms
    until(lambda: f"MINE [DEBUG] {STREAMING}" in log(server, "mine"), what="nothing more is said")
    back = do(server.face, SetLogLevel("mine", Level.USUAL, STREAMING))
    assert [logger.level for logger in back.loggers] == ["INFO"]
    assert set_root(server, "mine", Level.OFF)["root"] == "OFF"
    assert set_root(server, "json", Level.INFO) == {
        HADOOP: "ERROR",
        "root": "INFO",
    }
    until(lambda: server.face.ask(SearchLog("json", text="INFO MicroBatchExecution")).entries, what="nothing more is said")
    assert set_root(server, "json", Level.USUAL) == {
        HADOOP: "ERROR",
        "root": "WARN",
    }


def set_root(server: Server, job: str, level: Level) -> dict[str, str]:
    """Logger -> the level that the driver says it has then."""
    return {logger.logger: logger.level for logger in do(server.face, SetLogLevel(job, level)).loggers}


def history(server: Server) -> None:
    """Spark's history server reads both, and ends with the server."""
    (whole,) = (folder(server, server.newest("mine")) / FOLDER).glob("eventlog_v2_*")
    cut_in_three(server, server.newest("mine"), whole)
    applications = {job: do(server.face, OpenHistory(job)) for job in ("mine", "json")}
    place = applications["mine"]
    listed = {each["id"]: each["attempts"][0]["completed"] for each in asked(f"{root(place.url)}/api/v1/applications")}
    assert listed.keys() == {place.application, applications["json"].application} and listed[place.application]
    with urllib.request.urlopen(place.url, timeout=60) as page:
        assert page.status == 200 and "Jobs" in page.read().decode()
    pid = server.face.context.history.pid
    assert pid is not None
    server.end()
    until(lambda: not psutil.pid_exists(pid), what="the history server has outlived its server")
    server.start()


def cut_in_three(server: Server, run: Run, whole: Path) -> None:
    """The event log as if it had rolled on twice, and was cut then: its middle is gone."""
    (first,) = whole.glob("events_1_*")
    lines = first.read_text().splitlines(keepends=True)
    for number, part in ((2, lines[10:12]), (3, lines[12:])):
        (whole / first.name.replace("events_1_", f"events_{number}_")).write_text("".join(part))
    first.write_text("".join(lines[:10]))
    spec = server.face.context.files.spec(run.job, run.id)
    bounded = EventLog(type(spec)(**{**vars(spec), "conf": {**spec.conf, MOST: "1"}}), Records(folder(server, run), lambda: 1))
    bounded.bound()
    assert sorted(path.name for path in whole.glob("events_*")) == [
        f"{first.name.replace('events_1_', 'events_2_')}.compact",
        first.name.replace("events_1_", "events_3_"),
    ]


def root(url: str) -> str:
    return url.partition("/history/")[0]


def asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return read_json(answer.read())
