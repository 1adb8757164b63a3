"""A NodeManager is killed (SIGKILL): what runs in its containers lives on, YARN counts it as lost, and its jobs write what one never
interrupted writes. Each NodeManager is a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.verbs.face import do
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.run import RunScript
from tests import hadoop
from tests.cluster import HERE
from tests.hadoop import Node, Yarn
from tests.waiting import until
from tests.warm import one_environment
from tests.workspace import on_masters, on_yarn, test_yarn_cluster
from tests.workspace.following import write_files
from tests.workspace.on_masters import ALL, committed, where
from tests.workspace.serving import Server, serving
from tests.workspace.standalone import SCRIPT, Gate
from tests.workspace.test_job_places_exact import FILES, reaches, undisturbed, writes
from tests.workspace.test_job_places_exact import SCRIPT as OF_FILES
from tests.workspace.test_job_places_exact import write_files as write_numbered

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1800)]
SOON = {"tests.nodes": "0", "yarn.nm.liveness-monitor.expiry-interval-ms": "8000"}
"""A node that says nothing for so long is lost."""


@contextmanager
def cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Yarn, list[Node]]]:
    """A YARN with two nodes, each in a process of its own."""
    for name in ("hdfs", "yarn"):
        (folder / name).mkdir()
    with ExitStack() as stack:
        hdfs = stack.enter_context(hadoop.hdfs(folder / "hdfs"))
        yarn = stack.enter_context(hadoop.yarn(hdfs, folder / "yarn", SOON))
        nodes = [stack.enter_context(hadoop.node(yarn, folder / name)) for name in ("first", "second")]
        yarn.enter(monkeypatch)
        monkeypatch.setenv("SPARK_LOCAL_IP", HERE)
        one_environment()
        yield yarn, nodes


def test_an_executor_is_lost_with_its_node_in_the_middle_of_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    folder, gate = tmp_path / "in", Gate(tmp_path / "gate")
    args = (folder.as_uri(), str(gate.path), "{output}", "on")
    write_files(folder, range(2))
    with cluster(tmp_path, monkeypatch) as (yarn, nodes), serving(tmp_path / "workspace") as server:
        conf = {**on_yarn.conf(), **on_masters.CONF}
        do(server.face, RunScript(name="a", script="a.py", code=SCRIPT, args=args, conf=conf, master="yarn"))
        until(lambda: committed(server, "a") == 1, 300)
        with gate.closed():
            write_files(folder, range(2, 3))
            worker = gate.waiting()
            lost = next(node for node in nodes if node.has(worker))
            lost.kill()
            until(lambda: len(hadoop.nodes(yarn)) == 1, 120)
            until(lambda: gate.waiting() != worker and not lost_has(gate.waiting(), lost), 300, what="no other executor took the batch up")
        until(lambda: committed(server, "a") == 2, 300)
        write_files(folder, range(3, ALL))
        until(lambda: committed(server, "a") == ALL - 1, 300)
        assert len(server.face.ask(ShowJob("a")).runs) == 1 and (seen := where(server, "a")) is not None and seen.executors == 1
        server.stop("a", savepoint=False)
        on_masters.assert_exact(spark, server, folder, tmp_path / "undisturbed", {"a": 0})


def lost_has(pid: int, node: Node) -> bool:
    return psutil.pid_exists(pid) and node.has(pid)


def test_a_driver_is_lost_with_its_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    """In cluster mode: the driver, whom nobody told, works on until YARN or its lease ends it; the next one waits for that."""
    folder = tmp_path / "in"
    write_numbered(folder)
    late = [path.rename(tmp_path / path.name) for path in sorted(folder.iterdir())[2:]]
    with cluster(tmp_path, monkeypatch) as (yarn, nodes), serving(tmp_path / "workspace") as server:
        home, conf = f"{yarn.hdfs.url}/home", test_yarn_cluster.cluster_conf()
        args = (folder.as_uri(), "{output}")
        do(server.face, RunScript(name="a", script="job.py", code=OF_FILES, args=args, conf=conf, home=home, master="yarn"))
        reaches(server, "a", 1)
        first = server.newest("a")
        driver = driver_of(server)
        next(node for node in nodes if node.has(driver)).kill()
        for path in late:
            path.rename(folder / path.name)
        until(lambda: server.newest("a").id != first.id, 300)
        reaches(server, "a", FILES - 1)
        writes(server, "a", undisturbed(spark, folder, tmp_path / "undisturbed"), tmp_path)
        until(lambda: not psutil.pid_exists(driver), 120, what="the driver of the lost node lives on")
        server.stop("a", savepoint=False)


def driver_of(server: Server) -> int:
    """The JVM in the first container of the job's application."""
    until(lambda: where(server, "a") is not None, 60)
    seen = where(server, "a")
    assert seen is not None
    name = f"{seen.application.replace('application', 'container')}_01_000001"
    found = (process for process in psutil.process_iter(["cmdline", "name"]) if process.info["name"] == "java")
    return next(process.pid for process in found if any(name in word for word in process.info["cmdline"] or ()))
