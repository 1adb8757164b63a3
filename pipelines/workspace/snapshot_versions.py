"""Copies of a savepoint that go on under another Spark: snapshots of their state get the version that it reads."""

from __future__ import annotations

import re

from pipelines.domain import spark_changes
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.savepoint import snapshot_versions
from pipelines.storage.addresses import open_storage
from pipelines.workspace import runtimes
from pipelines.workspace.context import Context

OF_FORMAT_2 = re.compile(r"[^/]+/state/(.+/)?[^/]*_[^/]*\.zip")
"""Snapshots that bear an id beside their number, below a run's checkpoints."""


def fit(context: Context, manifest: Manifest, version: Version, checkpoints: str) -> None:
    """Makes the copy in the folder `checkpoints`, wherever that is, one that the Spark of `version` reads."""
    snapshot_version = spark_changes.snapshots(manifest.queries, manifest.spark_version, runtimes.spark_version(context, version))
    if snapshot_version is not None:
        snapshot_versions.give(manifest.queries, open_storage(checkpoints), snapshot_version)


def needs_copy(context: Context, newest: Run, version: Version) -> bool:
    """Whether a job, whose newest run is over, goes on under `version` only in a copy: its own checkpoint stays as it is."""
    if spark_changes.snapshot_version(newest.spark_version, runtimes.spark_version(context, version)) is None:
        return False
    return any(OF_FORMAT_2.fullmatch(entry.path) for entry in open_storage(newest.checkpoints).list())
