"""Kubernetes as far as a Spark driver sees it: the API server of its client's own tests, and a kubelet that runs executors on this machine.

No container is made: an executor is the process that `entrypoint.sh` of Spark's images would start, with what its pod says.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from pipelines.sandbox import classes
from tests import java, local_files, maven
from tests.compiled import compiled, spark_jars
from tests.compiled import java as program
from tests.waiting import until

JARS = "kubernetes_mock"
SOURCE = Path(__file__).with_name("ApiServer.java")
LISTENS = re.compile(r"listening at http://\S+:(\d+)/")
PODS = "/api/v1/namespaces/default/pods"
BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
HERE = "127.0.0.1"
POLL_S, TIMEOUT_S = 0.1, 30
CONF = {
    "spark.kubernetes.container.image": "spark-py:4.3.0",
    "spark.kubernetes.namespace": "default",
    "spark.executor.instances": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": classes.BRIEF,
    "spark.driver.host": HERE,
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}
"""Of a job with one executor of one core."""
Pod = Mapping[str, Any]


class Kubernetes:
    """A namespace in which executors run as processes."""

    def __init__(self, port: int, folder: Path) -> None:
        self.master = f"k8s://http://{HERE}:{port}"
        self._url = f"http://{HERE}:{port}{PODS}"
        self._folder = folder
        self._executors: dict[str, subprocess.Popen[bytes]] = {}
        self.made: dict[str, Pod] = {}
        """Every pod that was there, as it was sent."""
        self._over = threading.Event()
        self._kubelet = threading.Thread(target=self._run, name="kubelet", daemon=True)
        self._kubelet.start()

    def pods(self) -> dict[str, Pod]:
        """Those that are there, by name."""
        answer = requests.get(self._url, timeout=TIMEOUT_S)
        answer.raise_for_status()
        return {pod["metadata"]["name"]: pod for pod in answer.json()["items"]}

    def kill_pod_of(self, pid: int) -> str:
        """Kills the executor that has started the process `pid`; the name of its pod."""
        above = {parent.pid for parent in psutil.Process(pid).parents()}
        name, executor = next((name, one) for name, one in self._executors.items() if one.pid in above)
        executor.kill()
        return name

    def end(self) -> None:
        self._over.set()
        self._kubelet.join()
        for executor in self._executors.values():
            executor.kill()
            executor.wait()

    def _run(self) -> None:
        while not self._over.wait(POLL_S):
            pods = self.pods()
            for name, pod in pods.items():
                if name not in self._executors:
                    self.made[name] = pod
                    self._executors[name] = self._started(name, pod)
                    self._say(name, {"phase": "Running", "podIP": HERE, "containerStatuses": [_status(pod, {"running": {}})]})
                elif (code := self._executors[name].poll()) is not None and pod["status"]["phase"] == "Running":
                    ended = _status(pod, {"terminated": {"exitCode": code % 256}})
                    self._say(name, {"phase": "Failed" if code else "Succeeded", "podIP": HERE, "containerStatuses": [ended]})
            for name in self._executors.keys() - pods.keys():
                self._executors[name].kill()
                self._executors[name].wait()

    def _say(self, name: str, status: Mapping[str, Any]) -> None:
        """Of a pod that its driver deletes meanwhile nothing is said."""
        headers = {"Content-Type": "application/merge-patch+json"}
        answer = requests.patch(f"{self._url}/{name}", json={"status": status}, headers=headers, timeout=TIMEOUT_S)
        assert answer.ok or answer.status_code == 404, answer.text

    def _started(self, name: str, pod: Pod) -> subprocess.Popen[bytes]:
        container = pod["spec"]["containers"][0]
        assert container["args"] == ["executor"]
        env = {entry["name"]: entry.get("value", "") for entry in container["env"]}
        options = [value for key, value in sorted(env.items()) if key.startswith("SPARK_JAVA_OPT_")]
        memory = env["SPARK_EXECUTOR_MEMORY"]
        command = [program(), *options, f"-Xms{memory}", f"-Xmx{memory}", "-cp", _path([*spark_jars(), local_files.jar()]), BACKEND]
        told = {
            "--driver-url": env["SPARK_DRIVER_URL"],
            "--executor-id": env["SPARK_EXECUTOR_ID"],
            "--cores": env["SPARK_EXECUTOR_CORES"],
            "--app-id": env["SPARK_APPLICATION_ID"],
            "--hostname": HERE,
            "--resourceProfileId": env["SPARK_RESOURCE_PROFILE_ID"],
            "--podName": name,
        }
        folder = self._folder / name
        folder.mkdir()
        variables = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "SPARK_USER": env["SPARK_USER"]}
        with (folder / "log").open("wb") as output:
            words = [*command, *(word for pair in told.items() for word in pair)]
            return subprocess.Popen(words, cwd=folder, env=variables, stdout=output, stderr=subprocess.STDOUT)


@contextmanager
def standing(folder: Path) -> Iterator[Kubernetes]:
    """A namespace that is there when the block begins; it is gone after it, with what runs in it."""
    if not maven.jars(JARS):
        pytest.skip(f"needs the jars of {JARS}, from Maven's repository; to get them: {maven.HOW}")
    local_files.prepare()
    java.prepare()
    jars = [*maven.jars(JARS), *spark_jars()]
    path = _path([compiled(SOURCE, jars), *jars])
    log = folder / "api-server.log"
    with log.open("w") as output:
        server = subprocess.Popen([program(), "-cp", path, SOURCE.stem], stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT)
    try:
        until(lambda: server.poll() is not None or LISTENS.search(log.read_text()), 120, what=str(log))
        match = LISTENS.search(log.read_text())
        assert match is not None, log.read_text()
        namespace = Kubernetes(int(match[1]), folder)
        try:
            yield namespace
        finally:
            namespace.end()
    finally:
        assert server.stdin is not None
        server.stdin.close()
        server.wait(60)


def _path(places: Sequence[Path]) -> str:
    return os.pathsep.join(map(str, places))


def _status(pod: Pod, state: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": pod["spec"]["containers"][0]["name"], "state": state}
