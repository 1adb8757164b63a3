"""Gives a query's next batch the offsets of its leader's batch, as Spark itself would plan it (`MicroBatchExecution.constructNextBatch`).

For the thread that holds the query's progress lock while the stream's thread waits for that lock to plan: Spark then finds the batch
planned, and runs it. Its own are the watermark, the pinned confs and the state; the leader's are offsets and the clock of the batch.
"""

from __future__ import annotations

import json
from typing import Any

from pipelines.domain.errors import Conflict
from pipelines.domain.lockstep import SOURCE
from pipelines.driver.lead import LeadQuery, Planned
from pipelines.driver.sinklog import newest
from pipelines.driver.sinks import local_path

FILE_SOURCE = "FileStreamSource"


def impose(execution: Any, context: Any, lead: LeadQuery, planned: Planned) -> None:
    """1. The offsets. 2. The clock and the watermark. 3. Files of file sources. 4. The entry in the offset log, before which there is no
    batch. 5. What Spark does once a batch is planned. 6. Say that it is planned."""
    sequence = execution.offsetLog().deserialize(_stream(planned.entry))
    offsets = _progress(execution, sequence)
    context.__getattr__("endOffsets_$eq")(offsets)  # 1
    context.__getattr__("latestOffsets_$eq")(offsets)
    context.__getattr__("offsetSeqMetadata_$eq")(_metadata(execution, context.offsetSeqMetadata(), planned.at_ms))  # 2
    for source in _items(execution.sources()):  # 3
        if source.getClass().getSimpleName() == FILE_SOURCE:
            _note_files(source, offsets.get(source), lead)
    execution.markMicroBatchStart(context)  # 4
    execution.cleanUpLastExecutedMicroBatch(context)  # 5
    kept = execution.minLogEntriesToMaintain()
    if kept < planned.batch:
        execution.purge(planned.batch - kept)
    context.__getattr__("isCurrentBatchConstructed_$eq")(True)  # 6


def _progress(execution: Any, sequence: Any) -> Any:
    """Source -> offset; Conflict (`lockstep.source`) where the leader reads other sources."""
    sources, offsets = execution.sources(), sequence.offsets() if sequence.version() == 1 else None
    if offsets is None:
        return sequence.toStreamProgress(sources, execution.sourceIdMap())
    if offsets.size() != sources.size():
        message = f"It has {sources.size()} sources, and its leader's batch has the offsets of {offsets.size()}."
        raise Conflict(SOURCE, message, "Only code with the same sources can follow in lock-step.")
    return sequence.toStreamProgress(sources)


def _metadata(execution: Any, metadata: Any, at_ms: int) -> Any:
    watermark_ms = execution.watermarkTracker().currentWatermark()
    if metadata.version() == 1:
        return metadata.copy(watermark_ms, at_ms, metadata.conf())
    sources, control = metadata.__getattr__("copy$default$4")(), metadata.__getattr__("copy$default$5")()
    return metadata.copy(watermark_ms, at_ms, metadata.conf(), sources, control)


def _note_files(source: Any, offset: Any, lead: LeadQuery) -> None:
    """Adds the leader's entries up to `offset` (Scala's Option) to the source's own log, which Spark reads a batch's files from."""
    if offset.isEmpty():
        return
    log = _log(source)
    path = local_path(log.metadataPath().toString())
    if path is None:
        message = f"The log of a file source is not on a local disk: {log.metadataPath().toString()}"
        raise Conflict(SOURCE, message, "Use a local workspace.")
    for entry in range(newest(path) + 1, int(json.loads(offset.get().json())["logOffset"]) + 1):
        if not log.add(entry, log.deserialize(_stream(lead.files(path.name, entry)))):
            raise Conflict(SOURCE, f"Entry {entry} is in {path} already.", "Resume the job again.")


def _log(source: Any) -> Any:
    """A file source's own log, a private field of Spark's class."""
    field = source.getClass().getDeclaredField("metadataLog")
    field.setAccessible(True)
    return field.get(source)


def _stream(text: str) -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm.java.io.ByteArrayInputStream(text.encode())


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(at) for at in range(sequence.size())]
