"""On a Spark Connect server: killed, saved, forked and resumed, jobs write what one never interrupted writes; the rest is refused."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs import RunState
from pipelines.domain.verdicts import Outcome
from pipelines.verbs.check import Check
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from tests import connect_server, kafka
from tests.waiting import until
from tests.workspace import on_masters, standalone
from tests.workspace.following import write_files
from tests.workspace.on_masters import ALL, CONF, committed
from tests.workspace.serving import Server, serving
from tests.workspace.standalone import QUERIES, Gate

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "workspace") as server:
        yield server


def test_jobs_go_on_exactly_on_a_connect_server(server: Server, tmp_path: Path, spark: Any) -> None:
    face, folder, gate = server.face, tmp_path / "in", Gate(tmp_path / "gate")
    args = (str(folder), str(gate.path), "{output}", "on")
    write_files(folder, range(2))
    with connect_server.serving(tmp_path) as url:
        code = standalone.SCRIPT.replace("builder.getOrCreate()", f"builder.remote({url!r}).getOrCreate()")
        do(face, RunScript(name="a", script="a.py", code=code, args=args, conf=CONF))
        until(lambda: committed(server, "a") == 1, 300)
        until(lambda: server.batch("a") == 1, 60, what="its progress is not there")
        cluster = face.ask(ShowJob("a")).cluster
        assert cluster is not None and (cluster.master, cluster.deploy_mode) == (url, "connect")

        with gate.closed():  # the client is killed in the middle of a batch, which the server goes on with
            write_files(folder, range(2, 3))
            gate.waiting()
            os.kill(server.newest("a").pid or 0, signal.SIGKILL)
            until(lambda: len(face.ask(ShowJob("a")).runs) == 2, 300)
        until(lambda: committed(server, "a") == 2, 300)
        until(lambda: [event for event in face.ask(ListEvents("a")) if event.kind == "connect.ended"], 60)
        saved = do(face, Take("a"))
        assert {image.query: image.batch for image in saved.queries} == dict.fromkeys(QUERIES, 2)

        do(face, Fork(savepoint=saved.id, name="b", args=args))
        write_files(folder, range(3, 4))
        until(lambda: committed(server, "a") == committed(server, "b") == 3, 300)
        server.stop("a", savepoint=True)
        write_files(folder, range(4, ALL))
        do(face, Resume("a"))
        until(lambda: committed(server, "a") == committed(server, "b") == ALL - 1, 300)

        assert do(face, Check(saved.id)).outcome is Outcome.CANNOT_TELL
        for job in ("a", "b"):
            server.stop(job, savepoint=False)
        assert server.face.ask(ShowJob("a")).runs[0].state is RunState.STOPPED

    on_masters.assert_exact(spark, server, folder, tmp_path / "undisturbed", {"a": 0, "b": 3})


COPIES = """
import sys
from pyspark.sql import SparkSession, functions as F

url, into, servers = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
rows = spark.readStream.schema("k STRING").option("maxFilesPerTrigger", 1).json(into)

def copied(name, rows):
    writer = rows.writeStream.queryName(name).trigger(processingTime="0 seconds").format("kafka")
    return writer.option("kafka.bootstrap.servers", servers)

queries = [copied("copies", rows.select(F.col("k").alias("value"))).option("topic", "copies").start()]
queries += [copied("named", rows.select(F.lit("named").alias("topic"), F.col("k").alias("value"))).start()]
for query in queries:
    query.awaitTermination()
"""


@pytest.mark.skipif(bool(kafka.missing()), reason=kafka.missing())
def test_a_fork_there_writes_to_topics_of_its_own_that_have_no_rows_of_another(server: Server, tmp_path: Path) -> None:
    face, into = server.face, tmp_path / "in"
    into.mkdir()
    (into / "0.json").write_text('{"k":"first"}')
    with kafka.serving(tmp_path / "kafka") as broker, connect_server.serving(tmp_path, kafka.conf()) as url:
        for topic in ("copies", "named", "else.d", "copies.c", "named.d"):
            broker.create(topic)
        do(face, RunScript(name="a", script="a.py", code=COPIES, args=(url, str(into), broker.servers), conf=CONF))
        for topic in ("copies", "named"):
            until(lambda topic=topic: broker.read(topic) == ["first"], 300)
        until(lambda: server.batch("a") == 0, 60)
        server.stop("a", savepoint=True)
        savepoint = face.ask(ListSavepoints("a"))[0].id
        (into / "1.json").write_text('{"k":"second"}')
        for topic in ("copies.c", "named.d", "else.d"):
            broker.write(topic, [(0, "of a former job")])

        for job, own in (("c", "copies.c"), ("d", "named.d")):
            do(face, Fork(savepoint=savepoint, name=job))
            until(lambda job=job: not server.newest(job).state.live, what=f"{job} would add to a former job's rows")
            ending = server.newest(job).exit
            assert ending is not None and ending.error_class == "sink.taken", ending
            assert f"{own}, which has rows already (at least 1)" in ending.message and broker.read(own) == ["of a former job"]
        do(face, Fork(savepoint=savepoint, name="b"))
        until(lambda: "named.b" in broker.admin.list_topics(timeout=10).topics)
        for topic in ("copies", "named"):
            until(lambda topic=topic: broker.read(f"{topic}.b") == ["second"])
            assert broker.read(topic) == ["first"]
        server.stop("b", savepoint=False)
