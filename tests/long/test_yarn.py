"""On YARN in client mode: whatever is killed, and wherever state goes on, jobs write what one never interrupted writes.

`workspace/test_yarn_cluster.py` has jobs in cluster mode. Every time there are jobs in cluster mode on Kubernetes, and in client mode on a
standalone cluster."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.trust import Trust
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests.cluster import HERE
from tests.hadoop import Yarn
from tests.waiting import until
from tests.workspace import on_masters, on_yarn
from tests.workspace.following import write_files
from tests.workspace.on_masters import ALL, committed, where
from tests.workspace.serving import serving
from tests.workspace.standalone import QUERIES, SCRIPT, Gate

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1800)]


def test_jobs_go_on_exactly_on_yarn_and_between_masters(yarn: Yarn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    yarn.enter(monkeypatch)
    monkeypatch.setenv("SPARK_LOCAL_IP", HERE)
    folder, gate = tmp_path / "in", Gate(tmp_path / "gate")
    args, conf = (folder.as_uri(), str(gate.path), "{output}", "on"), {**on_yarn.conf(), **on_masters.CONF}
    write_files(folder, range(2))
    with serving(tmp_path / "workspace") as server:
        face = server.face
        do(face, RunScript(name="here", script="a.py", code=SCRIPT, args=args, conf=conf, master="local[2]"))
        until(lambda: committed(server, "here") == 1, 300)
        first = server.stop("here", savepoint=True)
        do(face, Fork(savepoint=first, name="a", args=args, master="yarn"))
        until(lambda: (seen := where(server, "a")) is not None and seen.executors == 1, 300)
        seen = where(server, "a")
        assert seen is not None and (seen.master, seen.deploy_mode) == ("yarn", "client")
        assert seen.link == f"{yarn.web}/cluster/app/{seen.application}"
        assert on_yarn.application(yarn, seen.application)["state"] == "RUNNING"

        with gate.closed():  # an executor is killed in the middle of a batch
            write_files(folder, range(2, 3))
            on_yarn.kill_executor_of(gate.waiting())
            until(lambda: "executors.none" in {event.kind for event in face.ask(ListEvents("a"))}, 120)
        until(lambda: committed(server, "a") == 2, 300)
        saved = do(face, Take("a"))
        assert {image.query: image.batch for image in saved.queries} == dict.fromkeys(QUERIES, 2)

        with gate.closed():  # the driver is
            write_files(folder, range(3, 4))
            gate.waiting()
            os.kill(server.newest("a").pid or 0, signal.SIGKILL)
            until(lambda: len(face.ask(ShowJob("a")).runs) == 2, 300)
        until(lambda: committed(server, "a") == 3, 300)

        do(face, Fork(savepoint=saved.id, name="b", args=args, master="local[2]"))
        write_files(folder, range(4, 5))
        until(lambda: committed(server, "a") == committed(server, "b") == 4, 300)
        local = server.stop("b", savepoint=True)
        ended = where(server, "a")
        server.stop("a", savepoint=True)
        until(lambda: ended is not None and on_yarn.application(yarn, ended.application)["finalStatus"] == "SUCCEEDED", 60)
        do(face, Fork(savepoint=local, name="c", args=args, master="yarn"))
        write_files(folder, range(5, ALL))
        until(lambda: committed(server, "c") == ALL - 1, 300)
        server.stop("c", savepoint=False)
        do(face, Resume("a", master="local[2]"))
        until(lambda: committed(server, "a") == ALL - 1, 300)
        assert do(face, Verify(local, Trust.PROVED)).reached is not None
        server.stop("a", savepoint=False)

        on_masters.assert_exact(spark, server, folder, tmp_path / "undisturbed", {"a": 2, "c": 5})
