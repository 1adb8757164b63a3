"""Copies of a savepoint that go on under another Spark: snapshots of their state get the version that it reads."""

from __future__ import annotations

from pathlib import Path

from pipelines.domain import spark_changes
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.savepoint import snapshot_versions
from pipelines.workspace import runtimes
from pipelines.workspace.context import Context

OF_FORMAT_2 = "*/state/**/*_*.zip"
"""Snapshots that bear an id beside their number, below a run's checkpoints."""


def fit(context: Context, manifest: Manifest, version: Version, checkpoints: Path) -> None:
    """Makes the copy in `checkpoints` one that the Spark of `version` reads."""
    snapshot_version = spark_changes.snapshots(manifest.queries, manifest.spark_version, runtimes.spark_version(context, version))
    if snapshot_version is not None:
        snapshot_versions.give(manifest.queries, checkpoints, snapshot_version)


def needs_copy(context: Context, newest: Run, version: Version) -> bool:
    """Whether a job, whose newest run is over, goes on under `version` only in a copy: its own checkpoint stays as it is."""
    if spark_changes.snapshot_version(newest.spark_version, runtimes.spark_version(context, version)) is None:
        return False
    return next(Path(newest.checkpoints).glob(OF_FORMAT_2), None) is not None
