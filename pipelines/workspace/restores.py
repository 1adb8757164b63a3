"""Restores of a savepoint into a new run's checkpoint: the engine's target for a fork and for a resume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.ids import JobName, RunId
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.domain.watch import Watch
from pipelines.savepoint import restore
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class Restoring:
    """One restore: look at its plan, or carry it out."""

    context: Context
    manifest: Manifest
    target: restore.Target

    def plan(self) -> RestorePlan:
        return restore.plan(self.context.library, self.manifest, self.target)

    def apply(self, watch: Watch) -> dict[str, str]:
        """Makes the checkpoints; answers with the sink logs to carry (query -> directory)."""
        restored = restore.restore(self.context.library, self.manifest.id, self.target, self.context.now_ms(), watch=watch)
        return {str(query): folder for query, folder in restored.sink_logs.items()}


def of_fork(context: Context, manifest: Manifest, job: JobName, run: RunId, version: Version, sinks: Mapping[str, str]) -> Restoring:
    """The restore of `manifest` into the checkpoints that `run` of the new `job` begins; `sinks` as `Variant` has it."""
    checkpoints = str(context.layout.checkpoints(job, run))
    return Restoring(
        context, manifest, restore.Fork(job, checkpoints, version, _parent_output(context, manifest), context.new_query_id, sinks)
    )


def of_resume(context: Context, manifest: Manifest, job: JobName, run: RunId) -> Restoring:
    """The restore of `manifest`, one of `job`'s own, into the checkpoints that its `run` begins."""
    return Restoring(context, manifest, restore.Resume(job, str(context.layout.checkpoints(job, run))))


def _parent_output(context: Context, manifest: Manifest) -> str:
    """The parent's `{output}`. An attached job runs elsewhere, without that word: there it is the directory of its file sink."""
    parent = context.files.job(manifest.job)
    attached = parent is not None and parent.attached
    elsewhere = next((image.sink_path for image in manifest.queries if image.sink_path), "") if attached else ""
    return elsewhere or str(context.layout.output(manifest.job))
