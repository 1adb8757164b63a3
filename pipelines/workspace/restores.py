"""Restores of a savepoint into a new run's checkpoint: the engine's target for a fork and for a resume."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipelines.domain.ids import JobName, RunId
from pipelines.domain.restores import RestorePlan
from pipelines.domain.rewrites import RewritePlan
from pipelines.domain.savepoints import Manifest
from pipelines.domain.versions import Version
from pipelines.savepoint import rescaling, restore
from pipelines.verbs.fork import Variant
from pipelines.workspace import rewrites
from pipelines.workspace.context import Context
from pipelines.workspace.tickets import Ticket


@dataclass(frozen=True)
class Restoring:
    """One restore: look at its plan, or carry it out."""

    context: Context
    manifest: Manifest
    target: restore.Target
    version: Version
    """What the run will execute."""
    partitions: int | None = None
    """Of the state, where that is to be rescaled."""

    def plan(self) -> RestorePlan:
        plan, rewrite = restore.plan(self.context.library, self.manifest, self.target), self._rewrite()
        return replace(plan, rewrite=rewrite, refusal=plan.refusal or (rewrite.refusal if rewrite else None))

    def apply(self, ticket: Ticket) -> dict[str, str]:
        """Makes the checkpoints and rewrites their state; answers with the sink logs to carry (query -> directory)."""
        rewrite = self._rewrite()
        restored = restore.restore(self.context.library, self.manifest.id, self.target, self.context.now_ms(), watch=ticket)
        logs = {str(query): folder for query, folder in restored.sink_logs.items()}
        if rewrite is not None:
            rewrites.rewrite(self.context, self.manifest, self.version, rewrite, restored.checkpoints, logs, ticket)
        return logs

    def _rewrite(self) -> RewritePlan | None:
        if self.partitions is None:
            return None
        spark_version = self.manifest.spark_version if self.version.python == self.manifest.version.python else ""
        return rescaling.plan(rescaling.of_savepoint(self.context.library, self.manifest), self.partitions, spark_version)


def of_fork(context: Context, manifest: Manifest, job: JobName, run: RunId, version: Version, variant: Variant) -> Restoring:
    """The restore of `manifest` into the checkpoints that `run` of the new `job` begins."""
    checkpoints, parent_output = str(context.layout.checkpoints(job, run)), _parent_output(context, manifest)
    target = restore.Fork(job, checkpoints, version, parent_output, context.new_query_id, variant.sinks)
    return Restoring(context, manifest, target, version, variant.partitions)


def of_resume(context: Context, manifest: Manifest, job: JobName, run: RunId, version: Version, partitions: int | None = None) -> Restoring:
    """The restore of `manifest`, one of `job`'s own, into the checkpoints that its `run` of `version` begins."""
    return Restoring(context, manifest, restore.Resume(job, str(context.layout.checkpoints(job, run))), version, partitions)


def _parent_output(context: Context, manifest: Manifest) -> str:
    """The parent's `{output}`. An attached job runs elsewhere, without that word: there it is the directory of its file sink."""
    parent = context.files.job(manifest.job)
    attached = parent is not None and parent.attached
    elsewhere = next((image.sink_path for image in manifest.queries if image.sink_path), "") if attached else ""
    return elsewhere or str(context.layout.output(manifest.job))
