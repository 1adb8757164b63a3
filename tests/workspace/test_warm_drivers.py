"""Drivers that were warm Spark processes before: a job sees nothing of that, and has the rows of one that began cold."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Run
from pipelines.domain.runs import LOG_FILE, RunState
from pipelines.domain.runtimes import OWN
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests import warm
from tests.driver.process import CONF
from tests.waiting import until
from tests.workspace.serving import Server, serving

pytestmark = pytest.mark.spark

SEEN = """
import json, os, sys
from pathlib import Path
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").getOrCreate()
context, jvm = spark.sparkContext, spark._jvm


@F.udf("string")
def of_worker(name):
    return os.getcwd() if name == "cwd" else os.environ.get(name, "")


names = spark.createDataFrame([("cwd",), ("TIDEMARK_RUN",), ("PYTHONPATH",), ("HOME",)], "name string")
Path("relative.txt").write_text("one line")
hadoop = jvm.org.apache.hadoop.fs.FileSystem.get(context._jsc.hadoopConfiguration())
seen = {
    "arguments": sys.argv,
    "path": sys.path[0],
    "variables": dict(os.environ),
    "main": __name__,
    "folder": os.getcwd(),
    "folder of Hadoop": hadoop.getWorkingDirectory().toString(),
    "file of Java": jvm.java.io.File("relative.txt").getCanonicalPath(),
    "relative": [row.value for row in spark.read.text("relative.txt").collect()],
    "workers": {row.name: row.seen for row in names.select("name", of_worker("name").alias("seen")).collect()},
    "confs": dict(context.getConf().getAll()),
    "sql": {row.key: row.value for row in spark.sql("SET").collect()},
    "level": jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel().toString(),
    "sessions": [jvm.SparkSession.getActiveSession().isDefined(), SparkSession.getActiveSession() is spark],
    "streams": [query.name for query in spark.streams.active],
    "tables": [table.name for table in spark.catalog.listTables()],
    "state stores": jvm.org.apache.spark.sql.execution.streaming.state.StateStore.isMaintenanceRunning(),
    "open": sorted(os.readlink(f"/proc/self/fd/{fd}").split(":")[0] for fd in (0, 1, 2)),
}
print("the script writes", flush=True)
jvm.System.out.println("Java writes")
Path(sys.argv[1], "seen.json").write_text(json.dumps(seen))
"""
OF_A_PROCESS = (
    *("spark.app.id", "spark.app.startTime", "spark.app.submitTime", "spark.driver.port"),
    *("spark.executorEnv.TIDEMARK_RUN", "spark.executorEnv.TIDEMARK_STANDS"),
    "PYTEST_CURRENT_TEST",
)
TEMPORARY = re.compile(r"tidemark-spark-\w+")
STORES = "spark.sql.streaming.stateStore.providerClass"
PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
COUNTS = f"""
import sys
from pyspark.sql import SparkSession, functions as F

(events,) = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("at TIMESTAMP, post STRING, n LONG").option("maxFilesPerTrigger", 1).json(events)
late = rows.withWatermark("at", "10 seconds")
often = {{"processingTime": "200 milliseconds"}}
spark.conf.set("{STORES}", "{PROVIDERS}.RocksDBStateStoreProvider")
sums = late.groupBy(F.window("at", "20 seconds"), "post").agg(F.count("*").alias("rows"), F.sum("n").alias("n"))
flat = sums.select(F.col("window.start").alias("start"), "post", "rows", "n")
flat.writeStream.queryName("sums").trigger(**often).start("sums", format="parquet")
spark.conf.set("{STORES}", "{PROVIDERS}.HDFSBackedStateStoreProvider")
firsts = late.dropDuplicatesWithinWatermark(["post"])
firsts.writeStream.queryName("firsts").trigger(**often).start("of the fork/firsts", format="json")
spark.streams.awaitAnyTermination()
"""
QUERIES = ("sums", "firsts")
FILES = 6
OF_ITS_JVM = {"spark.driver.maxResultSize": "512m"}
"""A conf that holds for a whole JVM: of those jobs a process has to warm up with it."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    warm.one_environment()
    with serving(tmp_path / "my data #1 (ä)") as running:
        yield running


def warm_up(server: Server, **conf: str) -> int:
    """The pid of a process that waits, warm: the next job with this `conf` begins in it."""
    begin_to_warm_up(server, **conf)
    warm: list[int] = []
    until(lambda: warm.extend(process.pid for process in server.face.context.sparks.processes() if process.is_warm) or warm)
    return warm[0]


def begin_to_warm_up(server: Server, **conf: str) -> int:
    pool = server.face.context.sparks
    pool.open(server.face.layout.warm, warm.USUAL)
    pool.drivers = 1
    pool.expect(OWN, "local[2]", conf)
    return pool.processes()[0].pid


def folder(server: Server, run: Run) -> Path:
    return server.face.layout.run(run.job, run.id)


def seen(server: Server, job: str) -> tuple[dict[str, Any], str]:
    """What a job saw, without what is each process's own; and its log."""
    do(server.face, RunScript(name=job, script="seen.py", code=SEEN, args=("{output}",)))
    until(lambda: server.newest(job).state in (RunState.FINISHED, RunState.FAILED))
    run = server.newest(job)
    log = (folder(server, run) / LOG_FILE).read_text()
    assert run.state is RunState.FINISHED, log
    text = (server.face.layout.output(run.job) / "seen.json").read_text()
    for own, name in ((run.id, "RUN"), (job, "JOB")):
        text = text.replace(own, name)
    saw = json.loads(text)
    for name in ("confs", "sql", "variables"):
        saw[name] = {key: TEMPORARY.sub("TEMPORARY", value) for key, value in saw[name].items() if key not in OF_A_PROCESS}
    return saw, log


@pytest.mark.parametrize("begin", [warm_up, begin_to_warm_up])
def test_a_job_sees_the_same_in_a_process_that_is_warm_or_warms_up_as_in_a_cold_one(server: Server, begin: Callable[[Server], int]) -> None:
    cold, _ = seen(server, "begun_a")
    assert cold["workers"]["cwd"] == cold["folder"]
    pid = begin(server)
    saw, log = seen(server, "begun_b")
    assert server.newest("begun_b").pid == pid
    assert saw == cold
    assert "the script writes" in log and "Java writes" in log


def write(events: Path) -> None:
    """One file a batch, a minute of events each, read in the order of their times."""
    events.mkdir()
    for number in range(FILES):
        rows = [
            {"at": f"2026-11-20T10:{number:02d}:{second:02d}Z", "post": post, "n": number * second}
            for second in range(0, 60, 7)
            for post in "abc"
        ]
        file = events / f"{number:03d}.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(file, (1_790_000_000 + number,) * 2)


def begin(server: Server, job: str, events: Path) -> None:
    do(server.face, RunScript(name=job, script="counts.py", code=COUNTS, args=(str(events),), conf=CONF | OF_ITS_JVM))


def committed(server: Server, job: str, query: str) -> int:
    commits = Path(server.newest(job).checkpoints) / query / "commits"
    return max((int(path.name) for path in commits.glob("[0-9]*")), default=-1)


def await_all(server: Server, job: str, batches: int = FILES) -> None:
    until(lambda: all(committed(server, job, query) >= batches - 1 for query in QUERIES) or server._fail_if_failed(job))


def is_equal(server: Server, job: str, query: str) -> bool:
    """The batch that puts the last rows out follows the one that says how far they reach. A row that is wrong or double never goes."""
    rows = server.face.ask(Compare("untouched", job, query=query))
    return rows.equal > 0 and (rows.only_a, rows.only_b, rows.changed) == (0, 0, 0)


def is_as_untouched(server: Server, job: str) -> None:
    for query in QUERIES:
        until(lambda query=query: is_equal(server, job, query), what=f"{job}: {query}")  # type: ignore[misc]


def test_jobs_in_processes_that_were_warm_have_the_rows_of_a_cold_one_through_kills_forks_and_another_server(
    server: Server, tmp_path: Path
) -> None:
    write(events := tmp_path / "events")
    begin(server, "untouched", events)
    await_all(server, "untouched")
    server.stop("untouched", savepoint=False)

    first = warm_up(server, **OF_ITS_JVM)
    begin(server, "subject", events)
    await_all(server, "subject", 3)
    assert server.newest("subject").pid == first
    savepoint = do(server.face, Take("subject"))

    second = warm_up(server, **OF_ITS_JVM)
    os.kill(first, signal.SIGKILL)
    until(lambda: server.newest("subject").pid == second)
    home = Path(server.face.context.files.process(JobName("subject"), server.newest("subject").id).home)  # type: ignore[union-attr]
    server.end()
    server.start()
    until(lambda: server.newest("subject").state is RunState.RUNNING)
    assert server.newest("subject").pid == second and psutil.pid_exists(second)

    third = warm_up(server, **OF_ITS_JVM)
    do(server.face, Fork(savepoint.id, name="forked"))
    until(lambda: server.newest("forked").pid == third)  # its savepoint may have all batches, which says nothing of the fork
    await_all(server, "forked")
    await_all(server, "subject")
    is_as_untouched(server, "subject")
    is_as_untouched(server, "forked")

    server.stop("subject", savepoint=True)
    assert not home.exists() and not (folder(server, server.newest("subject")) / "here").exists()
