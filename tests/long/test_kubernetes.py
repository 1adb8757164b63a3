"""On Kubernetes' API in client mode: executors are asked for as Spark's documents say, and a job goes on exactly when one is gone.

Every time there is a job in cluster mode there (`workspace/test_kubernetes_cluster.py`), and one in client mode on a standalone cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs import RunState
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.run import RunScript
from tests import kubernetes
from tests.kubernetes import Pod
from tests.waiting import until
from tests.workspace import on_masters
from tests.workspace.following import write_files
from tests.workspace.on_masters import ALL, committed, where
from tests.workspace.serving import Server, serving
from tests.workspace.standalone import SCRIPT, Gate

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(900)]
CONF = kubernetes.CONF | on_masters.CONF


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "workspace") as server:
        yield server


def test_a_job_on_kubernetes(server: Server, tmp_path: Path, spark: Any) -> None:
    face, folder, gate = server.face, tmp_path / "in", Gate(tmp_path / "gate")
    args = (str(folder), str(gate.path), "{output}", "on")
    write_files(folder, range(2))
    (tmp_path / "pods").mkdir()
    with kubernetes.standing(tmp_path / "pods") as namespace:
        do(face, RunScript(name="a", script="a.py", code=SCRIPT, args=args, conf=CONF, master=namespace.master))
        until(lambda: committed(server, "a") == 1, 300)
        there = where(server, "a")
        assert there is not None and (there.master, there.deploy_mode) == (namespace.master, "client")
        (first,) = namespace.pods().values()
        as_documented(first, there.application)
        until(lambda: (seen := where(server, "a")) is not None and seen.executors == 1, 60)

        with gate.closed():  # a pod dies in the middle of a batch
            write_files(folder, range(2, 3))
            killed = namespace.kill_pod_of(gate.waiting())
        until(lambda: committed(server, "a") == 2, 300)
        assert killed in namespace.made and len(namespace.made) == 2
        saved = server.stop("a", savepoint=True)
        until(lambda: not namespace.pods(), 60, what="pods outlive their job")

    write_files(folder, range(3, ALL))
    do(face, Fork(savepoint=saved, name="b", args=(*args[:3], "once"), master="local[2]"))
    until(lambda: server.newest("b").state is RunState.FINISHED or server._fail_if_failed("b"), 300)
    whole = on_masters.undisturbed(spark, folder, tmp_path / "undisturbed")
    before, after = (on_masters.output(spark, server, job) for job in ("a", "b"))
    assert after.windows == whole.windows and {**before.keys, **after.keys} == whole.keys


def as_documented(pod: Pod, application: str) -> None:
    """What "Running Spark on Kubernetes" says of an executor's pod: labels, image, resources, and that nothing restarts it."""
    labels, spec = pod["metadata"]["labels"], pod["spec"]
    assert labels["spark-role"] == "executor" and labels["spark-app-selector"] == application and labels["spark-exec-id"] == "1"
    (container,) = spec["containers"]
    assert spec["restartPolicy"] == "Never" and container["image"] == CONF["spark.kubernetes.container.image"]
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "896Mi"}, "512 MB, and 384 MB beside the heap"
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert env["SPARK_DRIVER_URL"].startswith(f"spark://CoarseGrainedScheduler@{kubernetes.HERE}:")
    assert env["SPARK_APPLICATION_ID"] == application
