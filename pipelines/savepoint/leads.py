"""A leader's batches since a savepoint: which ones a run in lock-step will have, and whether all that they need is still there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.checkpoint import commits, logs, offsets, source_log
from pipelines.checkpoint.listing import listed
from pipelines.checkpoint.source_log import SourceFile
from pipelines.domain.errors import Conflict, NotFound, Unsupported
from pipelines.domain.ids import folder_of
from pipelines.domain.lockstep import GONE, MOVED, SOURCE, UNREPEATABLE
from pipelines.domain.runs import LEAD
from pipelines.domain.savepoints import Manifest, QueryImage
from pipelines.savepoint import held_files
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage

KEPT = (
    "Spark keeps the offsets of a job's newest 100 batches, or of as many as its conf spark.sql.streaming.minBatchesToRetain says: take a "
    "newer savepoint."
)
FREELY = "A fork without lock-step reads what its sources have, in batches of its own."
FOLLOWED = (
    "Fork a savepoint of it: the fork goes on freely with its state. Or fork the leader's newest savepoint in lock-step with its code. "
    "Spark keeps the offsets of a job's newest 100 batches, or of as many as its conf spark.sql.streaming.minBatchesToRetain says."
)
NEWER = f"Take a savepoint of what runs now. {FREELY}"


@dataclass(frozen=True)
class Line:
    """The batches of one query that its leader has committed since the savepoint."""

    began: int
    newest: int
    times_ms: Mapping[int, int]
    """Batch -> when the leader planned it (epoch ms)."""

    def at(self, at_ms: int) -> int:
        """The newest batch planned at or before `at_ms`; the savepoint's own before the first."""
        return max((batch for batch, time_ms in self.times_ms.items() if time_ms <= at_ms), default=self.began)


def require_sources(manifest: Manifest) -> None:
    """Raises Unsupported (`lockstep.source`), by name, for a source to which no offsets can be given."""
    for image in manifest.queries:
        for source in image.sources:
            if source in UNREPEATABLE:
                message = f"Query {image.query} reads the source {source}: {UNREPEATABLE[source]}, so no offsets can be given to it."
                raise Unsupported(SOURCE, message, FREELY)


def line(image: QueryImage, checkpoints: str) -> Line:
    """The line of one query in its leader's `checkpoints`. Raises Conflict where batches are purged (`lockstep.gone`), or the leader has
    gone on from elsewhere (`lockstep.moved`)."""
    storage = open_storage(str(Path(checkpoints) / folder_of(image.query)))
    try:
        planned = logs.batch_ids(listed(storage, offsets.FOLDER).files(offsets.FOLDER))
        committed = logs.batch_ids(listed(storage, commits.FOLDER).files(commits.FOLDER))
    except NotFound:
        planned, committed = [], []
    began, newest = (image.batch if image.begun else -1), max(committed, default=-1)
    missing = [batch for batch in range(max(began, 0), newest + 1) if batch not in planned]
    if missing or (not committed and image.begun):
        span = f"{missing[0]} to {missing[-1]}" if missing else "all"
        message = f"Batches of query {image.query} since the savepoint (batch {image.batch}) are no longer in the job's checkpoint: {span}."
        raise Conflict(GONE, message, f"{KEPT} {FREELY}")
    if image.begun and (newest < began or offsets.read(storage, began).batch_timestamp_ms != image.batch_timestamp_ms):
        message = f"The job went back, or on from elsewhere, since: its batch {began} of query {image.query} is not the savepoint's."
        raise Conflict(MOVED, message, NEWER)
    times_ms = {batch: offsets.read(storage, batch).batch_timestamp_ms for batch in range(began + 1, newest + 1)}
    return Line(began, newest, times_ms)


def require_ahead(query: str, checkpoints: str, began: int, last: int | None, own: str = "") -> None:
    """Raises Conflict (`lockstep.gone`) where the leader has run batches after `began`, up to `last`, whose offsets are neither
    in its `checkpoints` any more nor in the follower's `own`, nor kept beside these."""
    if last is not None and began >= last:
        return
    name, leader = folder_of(query), Path(checkpoints) / folder_of(query)
    folders = [leader / offsets.FOLDER, *((Path(own) / name / offsets.FOLDER, Path(own) / LEAD / name) if own else ())]
    held, committed = {batch for folder in folders for batch in _batches(folder)}, _batches(leader / commits.FOLDER)
    end = max(committed, default=began) if last is None else min(last, max(committed, default=began))
    missing = [batch for batch in range(began + 1, end + 1) if batch not in held]
    if missing or not committed:
        span = f"{missing[0]} to {missing[-1]}" if missing else "all"
        message = f"Batches of query {query} that it has yet to follow are no longer in its leader's checkpoint: {span}."
        raise Conflict(GONE, message, FOLLOWED)


def newest(checkpoint: str) -> int:
    """The newest batch that is committed in a query's checkpoint on this machine, -1 before the first."""
    return max(_batches(Path(checkpoint) / commits.FOLDER), default=-1)


def _batches(folder: Path) -> list[int]:
    return [int(file.name) for file in folder.glob("*") if file.name.isdigit()]


def files(image: QueryImage, checkpoints: str, last: int) -> int:
    """How many files the batches up to `last` read; Conflict (`lockstep.files`) where one of them is gone."""
    if last < 0:
        return 0
    storage = open_storage(str(Path(checkpoints) / folder_of(image.query)))
    began = {offset.source: source_log.offset_of(offset.offset) for offset in image.offsets}
    paths = [
        entry.path
        for source, offset in offsets.read(storage, last).offsets.items()
        if (end := source_log.offset_of(offset)) is not None
        for entry in held_files.entries(storage, source, end)
        if _is_after(entry, began.get(source))
    ]
    gone = [path for path in paths if (local := held_files.local_path(path)) is not None and not local.exists()]
    if gone:
        message = f"{len(gone):,} of the {len(paths):,} files that query {image.query} read since are gone, such as {gone[0]}."
        raise Conflict("lockstep.files", message, "Put them back. Without them the same batches cannot be read again.")
    return len(paths)


def files_between(storage: Storage, source: str, start: str | None, end: str | None) -> tuple[str, ...]:
    """The files that a file source read between two of its offsets (Spark's JSON), oldest first; none for another source."""
    last, began = source_log.offset_of(end), source_log.offset_of(start)
    return () if last is None else tuple(entry.path for entry in held_files.entries(storage, source, last) if _is_after(entry, began))


def _is_after(entry: SourceFile, began: int | None) -> bool:
    return began is None or entry.batch > began
