"""A savepoint on its way into a new run's checkpoint: what the engine is told for a fork and for a resume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.domain.ids import JobName, RunId
from pipelines.domain.savepoints import Manifest, RestorePlan
from pipelines.domain.versions import Version
from pipelines.savepoint import restore
from pipelines.storage.watching import Watch
from pipelines.workspace import operations
from pipelines.workspace.context import Context


@dataclass(frozen=True)
class Restoring:
    """One restore: look at its plan, or carry it out."""

    context: Context
    manifest: Manifest
    target: restore.Target

    def plan(self) -> RestorePlan:
        return restore.plan(self.context.library, self.manifest.id, self.target)

    def apply(self) -> dict[str, str]:
        """Makes the checkpoints; answers with the sink logs to carry (query -> directory)."""
        kind = "fork" if isinstance(self.target, restore.Fork) else "resume"
        wanted = operations.cancellable(self.context, kind, self.target.job, self.manifest.id)
        restored = operations.noticed(self.context, wanted, self._restore, lambda made: self.target.job)
        return {str(query): folder for query, folder in restored.sink_logs.items()}

    def _restore(self, watch: Watch) -> restore.Restored:
        return restore.restore(self.context.library, self.manifest.id, self.target, self.context.now_ms(), watch=watch)


def of_fork(context: Context, manifest: Manifest, job: JobName, run: RunId, version: Version, sinks: Mapping[str, str]) -> Restoring:
    """The restore of `manifest` into the checkpoints that `run` of the new `job` begins; `sinks` as `ForkRequest` has it."""
    checkpoints = str(context.layout.checkpoints(job, run))
    return Restoring(
        context, manifest, restore.Fork(job, checkpoints, version, _parent_output(context, manifest), context.new_query_id, sinks)
    )


def of_resume(context: Context, manifest: Manifest, job: JobName, run: RunId) -> Restoring:
    """The restore of `manifest`, one of `job`'s own, into the checkpoints that its `run` begins."""
    return Restoring(context, manifest, restore.Resume(job, str(context.layout.checkpoints(job, run))))


def _parent_output(context: Context, manifest: Manifest) -> str:
    """What `{output}` meant to the parent. An attached job runs elsewhere, without that word: it stands for where its file sink writes."""
    parent = context.files.job(manifest.job)
    attached = parent is not None and parent.attached
    elsewhere = next((image.sink_path for image in manifest.queries if image.sink_path), "") if attached else ""
    return elsewhere or str(context.layout.output(manifest.job))
