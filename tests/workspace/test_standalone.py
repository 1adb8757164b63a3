"""On a Spark standalone cluster: whatever is killed, and wherever state goes on, jobs write what one never interrupted writes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests import cluster as clusters
from tests.cluster import Cluster
from tests.waiting import until
from tests.workspace import on_masters
from tests.workspace.following import write_files
from tests.workspace.on_masters import ALL, committed, where
from tests.workspace.serving import Server, serving
from tests.workspace.standalone import QUERIES, SCRIPT, Gate

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.usefixtures("kept_jvms")]
CONF = clusters.CONF | on_masters.CONF


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("SPARK_LOCAL_IP", clusters.HERE)
    with serving(tmp_path / "workspace") as server:
        yield server


def test_jobs_go_on_exactly_on_a_cluster_and_between_masters(cluster: Cluster, server: Server, tmp_path: Path, spark: Any) -> None:
    face, folder, gate = server.face, tmp_path / "in", Gate(tmp_path / "gate")
    args = (str(folder), str(gate.path), "{output}", "on")
    write_files(folder, range(2))
    do(face, RunScript(name="a", script="a.py", code=SCRIPT, args=args, conf=CONF, master=cluster.url))
    until(lambda: committed(server, "a") == 1, 300)
    on_cluster = where(server, "a")
    assert on_cluster is not None and on_cluster.application.startswith("app-")
    assert (on_cluster.master, on_cluster.deploy_mode) == (cluster.url, "client")
    until(lambda: (seen := where(server, "a")) is not None and seen.executors == 1, 60)

    with gate.closed():  # a worker is killed in the middle of a batch
        write_files(folder, range(2, 3))
        cluster.kill_worker_of(gate.waiting())
    cluster.add_workers()
    until(lambda: committed(server, "a") == 2, 300)
    saved = do(face, Take("a"))
    assert {image.query: image.batch for image in saved.queries} == dict.fromkeys(QUERIES, 2)

    with gate.closed():  # the driver is
        write_files(folder, range(3, 4))
        gate.waiting()
        os.kill(server.newest("a").pid or 0, signal.SIGKILL)
        until(lambda: len(face.ask(ShowJob("a")).runs) == 2, 300)
    until(lambda: committed(server, "a") == 3, 300)

    planned = face.plan(Fork(savepoint=saved.id, name="b", master="local[2]"))
    assert (planned.master, planned.master_before) == ("local[2]", cluster.url)
    do(face, Fork(savepoint=saved.id, name="b", args=args, master="local[2]"))
    write_files(folder, range(4, 5))
    until(lambda: committed(server, "a") == committed(server, "b") == 4, 300)
    here = where(server, "b")
    assert here is not None and (here.master, here.executors) == ("local[2]", 0)
    local = server.stop("b", savepoint=True)
    do(face, Fork(savepoint=local, name="c", args=args, master=cluster.url))
    server.stop("a", savepoint=True)
    write_files(folder, range(5, ALL))
    do(face, Resume("a"))
    until(lambda: committed(server, "a") == committed(server, "c") == ALL - 1, 300)
    for job in ("a", "c"):
        server.stop(job, savepoint=False)

    on_masters.assert_exact(spark, server, folder, tmp_path / "undisturbed", {"a": 0, "c": 5})
