"""Kubernetes in cluster mode: what the pod of a driver is called, and what its status means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.domain.applications import Application, Stage
from pipelines.domain.ids import RunId

LABEL = "tidemark-run"
"""Of the driver's pod and of those of its executors; its value is the run's id."""
STAGES = {"": Stage.WAITING, "Pending": Stage.WAITING, "Succeeded": Stage.OVER, "Failed": Stage.OVER}
"""By the phase of a pod; in any other it may run (`Unknown`: its node does not answer)."""
Pod = Mapping[str, Any]


def pod_name(run: RunId) -> str:
    """The same whoever submits the run, so that the API server refuses a second one."""
    return f"tidemark-{run}"


def application(name: str, pod: Pod) -> Application:
    """The driver in `pod`, a document of Kubernetes' API."""
    status = pod.get("status") or {}
    phase = str(status.get("phase") or "")
    return Application(name, STAGES.get(phase, Stage.RUNNING), "; ".join((phase or "Pending", *_reasons(status))))


def _reasons(status: Mapping[str, Any]) -> Iterator[str]:
    """Of the pod (evicted, say), and of its containers: why they wait, how they ended."""
    yield from _reason(status)
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        yield from _reason(state.get("waiting") or {})
        if ended := state.get("terminated"):
            yield from _reason(ended)
            yield f"exit code {ended.get('exitCode')}"


def _reason(state: Mapping[str, Any]) -> Iterator[str]:
    if words := [str(state[key]) for key in ("reason", "message") if state.get(key)]:
        yield ": ".join(words).partition("\n")[0]
