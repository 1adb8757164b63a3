"""Kubernetes as far as Spark sees it: the API server of its client's own tests, and a kubelet that runs what is in pods on this machine.

No container is made: an executor, and a driver in cluster mode, is the process that `entrypoint.sh` of Spark's images would start, with
what its pod says.
"""

from __future__ import annotations

import os
import re
import signal
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

from pipelines.domain.home_leases import PERIOD_VARIABLE as LEASE
from pipelines.sandbox import classes
from tests import java, local_files, maven
from tests.compiled import compiled, spark_jars
from tests.compiled import java as program
from tests.waiting import until

JARS = "kubernetes_mock"
SOURCE = Path(__file__).with_name("ApiServer.java")
LISTENS = re.compile(r"listening at http://\S+:(\d+)/")
NAMESPACE = "/api/v1/namespaces/default"
BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
HERE = "127.0.0.1"
POLL_S, TIMEOUT_S = 0.1, 120
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
    """A namespace in which pods are processes."""

    def __init__(self, port: int, server: subprocess.Popen[bytes], folder: Path) -> None:
        self.master = f"k8s://http://{HERE}:{port}"
        self._url = f"http://{HERE}:{port}{NAMESPACE}"
        self._server = server
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.full = threading.Event()
        """While it is set no node has room for another driver."""
        self.made: dict[str, Pod] = {}
        """Every pod that was there, as it was sent."""
        self._over = threading.Event()
        self._kubelet = threading.Thread(target=self._run, name="kubelet", daemon=True)
        self._kubelet.start()

    def pods(self) -> dict[str, Pod]:
        """Those that are there, by name."""
        return self.all("pods")

    def all(self, kind: str) -> dict[str, Pod]:
        """The documents of a kind (`pods`, `services`, `configmaps`), by name."""
        answer = requests.get(f"{self._url}/{kind}", timeout=TIMEOUT_S)
        answer.raise_for_status()
        return {each["metadata"]["name"]: each for each in answer.json()["items"]}

    def add(self, name: str) -> None:
        """A driver's pod with nothing in it."""
        metadata = {"name": name, "namespace": "default", "labels": {"spark-role": "driver"}}
        spec = {"containers": [{"name": "driver", "image": "none"}]}
        answer = requests.post(
            f"{self._url}/pods", json={"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, timeout=TIMEOUT_S
        )
        answer.raise_for_status()

    def kill_pod_of(self, pid: int) -> str:
        """Kills the executor that has started the process `pid`; the name of its pod."""
        above = {parent.pid for parent in psutil.Process(pid).parents()}
        name, executor = next((name, process) for name, process in self._processes.items() if process.pid in above)
        executor.kill()
        return name

    def evict(self, name: str, message: str) -> None:
        """Kills what runs in a pod, which is Failed then."""
        self.say(name, {"phase": "Failed", "reason": "Evicted", "message": message})
        end(self._processes[name])

    @contextmanager
    def silent(self) -> Iterator[None]:
        """While the block lasts the API server takes connections and answers nothing."""
        self._server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._server.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self._over.set()
        self._kubelet.join()
        for process in self._processes.values():
            end(process)

    def _run(self) -> None:
        while not self._over.wait(POLL_S):
            pods = self.pods()
            for name, pod in pods.items():
                phase = (pod.get("status") or {}).get("phase", "Pending")
                if name not in self._processes and phase == "Pending" and self._has_room(pod):
                    self.made[name] = pod
                    self._processes[name] = self._driver(name, pod) if _is_driver(pod) else self._executor(name, pod)
                    self.say(name, {"phase": "Running", "podIP": HERE, "containerStatuses": [_status(pod, {"running": {}})]})
                elif name in self._processes and phase == "Running" and (code := self._processes[name].poll()) is not None:
                    ended = _status(pod, {"terminated": {"exitCode": code % 256}})
                    self.say(name, {"phase": "Failed" if code else "Succeeded", "podIP": HERE, "containerStatuses": [ended]})
            for name in self._processes.keys() - pods.keys():
                end(self._processes[name])

    def _has_room(self, pod: Pod) -> bool:
        """Whether it can be started: a driver is sent before the config map that it mounts."""
        return not _is_driver(pod) or (not self.full.is_set() and config_map(pod) in self.all("configmaps"))

    def say(self, name: str, status: Mapping[str, Any]) -> None:
        """What the pod's status is from now on. Of one that is deleted meanwhile nothing is said."""
        headers = {"Content-Type": "application/merge-patch+json"}
        answer = requests.patch(f"{self._url}/pods/{name}", json={"status": status}, headers=headers, timeout=TIMEOUT_S)
        assert answer.ok or answer.status_code == 404, answer.text

    def _executor(self, name: str, pod: Pod) -> subprocess.Popen[bytes]:
        container = pod["spec"]["containers"][0]
        assert container["args"] == ["executor"]
        env = environment(pod)
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
        return self._start(name, [*command, *(word for pair in told.items() for word in pair)], {"SPARK_USER": env["SPARK_USER"]})

    def _driver(self, name: str, pod: Pod) -> subprocess.Popen[bytes]:
        """As `entrypoint.sh` does it: spark-submit in client mode, with the properties that its config map has. The driver's service has no
        name in a network here, so the driver is told the address that it stands for."""
        (container,) = pod["spec"]["containers"]
        assert container["args"][0] == "driver"
        env = environment(pod)
        conf = self._folder / f"{name}-conf"
        conf.mkdir()
        for file, content in self.all("configmaps")[config_map(pod)]["data"].items():
            (conf / file).write_text(content)
        words = [word.replace(env["SPARK_CONF_DIR"], str(conf)) for word in container["args"][1:]]
        bound = ["--conf", f"spark.driver.bindAddress={HERE}", "--conf", f"spark.driver.host={HERE}", "--deploy-mode", "client"]
        names = ("SPARK_USER", "SPARK_APPLICATION_ID", LEASE)
        variables = {key: env[key] for key in names if key in env} | {"SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_DIRS": str(conf)}
        return self._start(name, [f"{spark_jars()[0].parents[1]}/bin/spark-submit", *bound, *words], variables)

    def _start(self, name: str, command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        folder = self._folder / name
        folder.mkdir()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with (folder / "log").open("wb") as output:
            return subprocess.Popen(
                command,
                cwd=folder,
                env=os.environ | {"PATH": path, **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def environment(pod: Pod) -> Mapping[str, str]:
    """The variables that the pod's container is given, of those that have a value."""
    return {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][0]["env"]}


def config_map(pod: Pod) -> str:
    """The name of the one that has a driver's properties."""
    volumes = pod["spec"].get("volumes", ())
    return next((str(volume["configMap"]["name"]) for volume in volumes if volume["name"] == "spark-conf-volume-driver"), "")


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to all of a container's processes."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _is_driver(pod: Pod) -> bool:
    return pod["metadata"]["labels"].get("spark-role") == "driver"


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
        command = [program(), *classes.BRIEF.split(), "-cp", path, SOURCE.stem]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT)
    try:
        until(lambda: server.poll() is not None or LISTENS.search(log.read_text()), 120, what=str(log))
        match = LISTENS.search(log.read_text())
        assert match is not None, log.read_text()
        namespace = Kubernetes(int(match[1]), server, folder)
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
