"""YARN's resource manager: asked by its REST for what runs, told by Hadoop's own command to end it, which knows how to sign in."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from pipelines.domain import hadoop_conf, yarn
from pipelines.domain.applications import Application
from pipelines.domain.errors import Unavailable
from pipelines.domain.ids import RunId
from pipelines.sandbox import sparks

TIMEOUT_S = 15.0
KILL_S = 60.0
COMMAND = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"


class ResourceManager:
    """The resource managers of one cluster, of which one answers."""

    name = "YARN"

    def __init__(self, conf: Mapping[str, str], python: str, environ: Mapping[str, str]) -> None:
        """Raises Unavailable (`master.yarn`) where Hadoop's configuration does not say where it is."""
        files = (hadoop_conf.CORE_SITE, hadoop_conf.YARN_SITE)
        self._urls = yarn.addresses(hadoop_conf.settings(conf, environ, _content, files))
        self._python = python
        self._environ = environ

    def find(self, run: RunId) -> Sequence[Application]:
        """The applications with the run's tag, oldest first; raises Unavailable (`master.yarn_away`)."""
        answer = self._ask("/ws/v1/cluster/apps", {"applicationTags": yarn.tag(run)}) or {}
        raw = (answer.get("apps") or {}).get("app") or []
        return [yarn.application(each) for each in sorted(raw, key=lambda each: (each["startedTime"], each["id"]))]

    def application(self, name: str) -> Application | None:
        """None for one that YARN does not know, or not any more; raises Unavailable (`master.yarn_away`)."""
        answer = self._ask(f"/ws/v1/cluster/apps/{name}", {})
        return yarn.application(answer["app"]) if answer else None

    def kill(self, name: str) -> str:
        """Ends the application; answers with what Hadoop's command said. Raises OSError and subprocess.TimeoutExpired."""
        folders = [f"{jars}/*" for jars in [sparks.jars(self._python)] if jars]
        classes = ":".join([*hadoop_conf.folders(self._environ), *folders])
        java = Path(self._environ["JAVA_HOME"], "bin", "java")
        command = [str(java), "-Xmx128m", "-cp", classes, COMMAND, "-kill", name]
        return subprocess.run(command, env=dict(self._environ), capture_output=True, text=True, timeout=KILL_S, check=False).stderr

    def close(self) -> None:
        """Holds nothing open."""

    def _ask(self, path: str, query: Mapping[str, str]) -> Any:
        """The JSON of the first that is active; None for what it does not know."""
        problems = []
        for url in self._urls:
            try:
                answer = httpx.get(f"{url}{path}", params=dict(query), timeout=TIMEOUT_S, follow_redirects=True, trust_env=False)
                if answer.status_code == httpx.codes.NOT_FOUND:
                    return None
                answer.raise_for_status()
                return answer.json()
            except (httpx.HTTPError, ValueError) as error:
                problems.append(f"{url}: {error}")
        hint = "The run goes on; it is asked again. See whether the resource manager answers there."
        raise Unavailable("master.yarn_away", f"YARN's resource manager does not answer: {'; '.join(problems)}", hint)


def _content(path: str) -> bytes | None:
    return Path(path).read_bytes() if Path(path).is_file() else None
