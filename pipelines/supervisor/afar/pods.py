"""Drivers' pods, by a process that asks Kubernetes' API with the client of the version's own Spark, which knows how to sign in there."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.domain import kubernetes
from pipelines.domain.applications import Application
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import RunId
from pipelines.domain.json_text import read_json

MODULE = "pipelines.driver.afar"
TIMEOUT_S = 120.0
"""Of one answer; the first waits for a JVM."""


class Pods:
    """Of one run in `folder`. The process is there from the first question on, and ends with this one."""

    name = "Kubernetes"

    def __init__(self, folder: Path, python: str, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._python = python
        self._environ = environ
        self._client: subprocess.Popen[bytes] | None = None

    def find(self, run: RunId) -> Sequence[Application]:
        """At most one, as its name is given once; raises Unavailable (`master.kubernetes_away`)."""
        application = self.application(kubernetes.pod_name(run))
        return [application] if application else []

    def application(self, name: str) -> Application | None:
        """None for a pod that is not there, or not any more; raises Unavailable (`master.kubernetes_away`)."""
        pod = self._ask({"pod": name})
        return kubernetes.application(name, pod) if pod else None

    def kill(self, name: str) -> str:
        """Deletes the pod; raises Unavailable (`master.kubernetes_away`)."""
        self._ask({"delete": name})
        return f"Kubernetes deletes the pod {name}"

    def _ask(self, question: Mapping[str, str]) -> Any:
        client = self._client = self._client or self._started()
        assert client.stdin is not None and client.stdout is not None
        try:
            client.stdin.write(json.dumps(question).encode() + b"\n")
            client.stdin.flush()
            line = client.stdout.readline() if select.select([client.stdout], [], [], TIMEOUT_S)[0] else b""
        except BrokenPipeError:
            line = b""
        answer = read_json(line.decode()) if line else {"error": f"its client does not answer, see {self._folder.name}/submission.log"}
        if not line:
            self.close()
        if "error" in answer:
            hint = "The run goes on; it is asked again. See whether the API server answers, and what the job's confs say of signing in."
            raise Unavailable("master.kubernetes_away", f"Kubernetes does not answer: {answer['error']}", hint)
        return answer["pod"]

    def _started(self) -> subprocess.Popen[bytes]:
        """The run's folder is not its last argument: by that the process that stands for the driver is found."""
        command = [self._python or sys.executable, "-m", MODULE, str(self._folder), "pods"]
        return subprocess.Popen(command, env=dict(self._environ), cwd=self._folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def close(self) -> None:
        """Ends the process; another question starts it again."""
        client, self._client = self._client, None
        if client is None:
            return
        client.kill()
        client.wait()
        for pipe in (client.stdin, client.stdout):
            if pipe is not None:
                pipe.close()
