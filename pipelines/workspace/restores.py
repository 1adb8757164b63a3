"""A savepoint on its way into a new run's checkpoint: what the engine is told for a fork and for a resume."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.ids import JobName, RunId
from pipelines.domain.savepoints import Manifest, RestorePlan
from pipelines.domain.versions import Version
from pipelines.savepoint import restore
from pipelines.workspace.parts import Parts


@dataclass(frozen=True)
class Restoring:
    """One restore: look at its plan, or carry it out."""

    parts: Parts
    manifest: Manifest
    target: restore.Target

    def plan(self) -> RestorePlan:
        return restore.plan(self.parts.library, self.manifest.id, self.target)

    def apply(self) -> dict[str, str]:
        """Makes the checkpoints; answers with the sink logs to carry (query -> directory)."""
        restored = restore.restore(self.parts.library, self.manifest.id, self.target, self.parts.now_ms())
        return {str(query): folder for query, folder in restored.sink_logs.items()}


def of(parts: Parts, manifest: Manifest, job: JobName, run: RunId, version: Version, *, keep_query_id: bool) -> Restoring:
    """The restore of `manifest` into the checkpoints that `run` of `job` begins."""
    checkpoints = str(parts.layout.checkpoints(job, run))
    if keep_query_id:
        return Restoring(parts, manifest, restore.Resume(job, checkpoints))
    parent_output = str(parts.layout.output(manifest.job))
    return Restoring(parts, manifest, restore.Fork(job, checkpoints, version, parent_output, parts.new_query_id))
