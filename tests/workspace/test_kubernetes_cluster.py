"""In cluster mode on Kubernetes' API: what spark-submit sends for a driver is what Spark's documents say, the phases of its pod are the
run's states, and a job whose driver shares HDFS alone with this machine writes the rows of one never interrupted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.home_leases import PERIOD_VARIABLE
from pipelines.domain.kubernetes import LABEL, pod_name
from pipelines.domain.masters import DEPLOY_MODE
from pipelines.domain.runs import RunState
from pipelines.storage.addresses import open_storage
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from tests import kubernetes
from tests.api.receivers import free_port
from tests.kubernetes import Kubernetes, config_map, environment
from tests.waiting import until
from tests.warm import one_environment
from tests.workspace.serving import Server, serving
from tests.workspace.test_job_places_exact import ONE_STORE, SCRIPT, UTC, reaches, undisturbed, write_files, writes

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[Kubernetes]:
    (tmp_path / "pods").mkdir()
    with kubernetes.standing(tmp_path / "pods") as namespace:
        yield namespace


@pytest.fixture
def server(tmp_path: Path, hdfs_url: str, namespace: Kubernetes) -> Iterator[Server]:
    """It ends before the namespace, by which it sees the ends of its jobs."""
    one_environment()
    with serving(tmp_path / "workspace") as server:
        yield server


def test_a_driver_in_a_pod(server: Server, namespace: Kubernetes, hdfs_url: str, tmp_path: Path, spark: Any) -> None:
    face, folder = server.face, tmp_path / "in"
    write_files(folder)
    late = [path.rename(tmp_path / path.name) for path in sorted(folder.iterdir())[3:]]
    conf = {
        **kubernetes.CONF,
        **ONE_STORE,
        **UTC,
        DEPLOY_MODE: "cluster",
        "spark.log.level": "INFO",
        "spark.driver.memory": "512m",
        "spark.driver.port": str(free_port()),
        "spark.driver.blockManager.port": str(free_port()),
        "spark.kubernetes.driver.master": namespace.master.removeprefix("k8s://"),
        "spark.pyspark.python": sys.executable,
        f"spark.kubernetes.driverEnv.{PERIOD_VARIABLE}": "20",
    }
    namespace.full.set()
    args = (folder.as_uri(), "{output}")
    do(face, RunScript(name="a", script="a.py", code=SCRIPT, args=args, conf=conf, home=f"{hdfs_url}/home", master=namespace.master))
    first = pod_of(server, namespace)
    as_documented(server, namespace, first)
    assert server.newest("a").state is RunState.STARTING
    namespace.full.clear()
    reaches(server, "a", 2)
    until(lambda: (seen := face.ask(ShowJob("a")).cluster) is not None and seen.executors == 1, 60)
    seen = face.ask(ShowJob("a")).cluster
    assert seen is not None and (seen.master, seen.deploy_mode) == (namespace.master, "cluster")
    assert seen.application == namespace.made[first]["metadata"]["labels"]["spark-app-selector"]
    evicted = server.newest("a")
    for path in late:
        path.rename(folder / path.name)
    namespace.evict(first, "The node was low on resource: memory.")
    until(lambda: server.newest("a").id != evicted.id, 120, what="a run whose pod failed is not followed by another")
    ended = face.context.files.exit(evicted.job, evicted.id)
    assert ended is not None and ended.reason == "failed" and "Evicted: The node was low" in ended.message
    writes(server, "a", undisturbed(spark, folder, tmp_path / "undisturbed"), tmp_path)
    second = pod_of(server, namespace)
    server.stop("a", savepoint=True)
    assert "Successfully stopped SparkContext" in face.ask(ReadLog("a")).text, "the JVM's log is not in the driver's"
    assert namespace.pods()[second]["status"]["phase"] == "Succeeded"
    nothing_left(server)

    namespace.full.set()
    do(face, Resume("a"))
    third = pod_of(server, namespace)
    do(face, Stop("a", at_once=True))
    assert third not in namespace.pods(), "the pod of a run that was cancelled is still there"
    assert not server.newest("a").state.goes_on
    nothing_left(server)


def pod_of(server: Server, namespace: Kubernetes) -> str:
    """The name of the pod of the job's newest run, once it is there."""
    name = pod_name(server.newest("a").id)

    def there() -> bool:
        assert not server.newest("a").state.has_failed, server.face.ask(ReadLog("a")).text
        return name in namespace.pods()

    until(there, 120)
    return name


def nothing_left(server: Server) -> None:
    place = server.newest("a").checkpoints.partition("/checkpoints/")[0]
    until(lambda: not list(open_storage(f"{place}/runs").list()), 60, what="something of ended runs is left at home")


def as_documented(server: Server, namespace: Kubernetes, name: str) -> None:
    """What "Running Spark on Kubernetes" says of cluster mode: the driver's pod, the service by which executors reach it, its properties in
    a config map, and uploaded files below `spark.kubernetes.file.upload.path`."""
    pod = namespace.pods()[name]
    until(lambda: config_map(pod) in namespace.all("configmaps"), 60, what="the driver's config map was not sent")
    labels, spec = pod["metadata"]["labels"], pod["spec"]
    assert labels["spark-role"] == "driver" and labels[LABEL] == server.newest("a").id
    (container,) = spec["containers"]
    assert spec["restartPolicy"] == "Never" and container["image"] == kubernetes.CONF["spark.kubernetes.container.image"]
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "896Mi"}, "512 MB, and 384 MB beside the heap"
    place = server.newest("a").checkpoints.partition("/checkpoints/")[0]
    uploads = f"{place}/runs/{server.newest('a').id}/uploads/spark-upload-"
    role, option, properties, klass, runner, script = container["args"]
    assert (role, option, klass, runner) == ("driver", "--properties-file", "--class", "org.apache.spark.deploy.PythonRunner")
    assert properties == f"{environment(pod)['SPARK_CONF_DIR']}/spark.properties"
    assert script.startswith(uploads) and script.endswith("/tidemark_driver.py")

    (service,) = namespace.all("services").values()
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["selector"]["spark-app-selector"] == labels["spark-app-selector"]
    files = namespace.all("configmaps")[config_map(pod)]
    lines = files["data"]["spark.properties"].replace("\\", "").splitlines()
    driver_conf = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert driver_conf["spark.kubernetes.driver.pod.name"] == name and driver_conf["spark.kubernetes.submitInDriver"] == "true"
    assert driver_conf["spark.archives"].startswith(uploads) and driver_conf["spark.archives"].endswith("/tidemark.zip#tidemark")
    assert driver_conf["spark.driver.host"].startswith(service["metadata"]["name"])
    for owned in (service, files):
        assert [owner["name"] for owner in owned["metadata"]["ownerReferences"]] == [name]
