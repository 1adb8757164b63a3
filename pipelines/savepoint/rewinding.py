"""What going back to a retained batch will do, said before its savepoint is taken."""

from __future__ import annotations

from pipelines.domain.ids import SavepointId
from pipelines.domain.savepoints import RestorePlan
from pipelines.savepoint import cloning, restore, sinks
from pipelines.savepoint.batch_choice import BatchChoice
from pipelines.savepoint.contents import gather
from pipelines.savepoint.source import JobSource
from pipelines.savepoint.targets import Resume
from pipelines.storage import folders
from pipelines.storage.protocol import Storage


def plan(job: JobSource, wanted: BatchChoice, target: Resume, library: Storage) -> RestorePlan:
    """The plan of a resume from the savepoint that would be taken at `wanted`; raises what taking it raises."""
    gathered = gather(job, wanted)
    parts = [part for query in gathered for part in query.parts]
    ways = {folders.expected_how(part.source, library) for part in parts if part.clone}
    copied = sum(cloning.copied_bytes(part.source, library, part.cloned) for part in parts)
    written = sum(len(data) for part in parts for data in part.write.values())
    decided = tuple(sinks.for_resume(query.image).plan for query in gathered)
    return RestorePlan(
        savepoint=SavepointId(""),
        job=target.job,
        keeps_query_id=True,
        checkpoints=target.checkpoints,
        files=sum(len(part.files) for part in parts),
        bytes=sum(file.bytes for part in parts for file in part.files),
        new_bytes=written + copied,
        how=", ".join(sorted(ways)),
        sinks=decided,
        warnings=restore.warnings(decided),
    )
