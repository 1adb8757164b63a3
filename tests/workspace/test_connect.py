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
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from tests import connect_server
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
