"""The cluster that runs a driver, as far as the process that stands for it asks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pipelines.domain import masters
from pipelines.domain.applications import Application
from pipelines.domain.ids import RunId
from pipelines.domain.run_specs import RunSpec
from pipelines.supervisor.afar.pods import Pods
from pipelines.supervisor.afar.resource_manager import ResourceManager


class Cluster(Protocol):
    """Each method raises Unavailable where the cluster does not answer."""

    name: str

    def find(self, run: RunId) -> Sequence[Application]:
        """The drivers of a run, whoever submitted them, oldest first."""

    def application(self, name: str) -> Application | None:
        """None for one that the cluster does not know, or not any more."""

    def kill(self, name: str) -> str:
        """Ends it at once; answers with what the cluster said."""

    def close(self) -> None:
        """Nothing more is asked."""


def of(spec: RunSpec, folder: Path, python: str, environ: Mapping[str, str]) -> Cluster:
    """The cluster of a run in `folder`, whose version's Python is `python`; raises what `ResourceManager` raises."""
    if masters.is_kubernetes(spec.master):
        return Pods(folder, python, environ)
    return ResourceManager(spec.conf, python, environ)
