"""Does a batch again that the sink has and the checkpoint has not committed, as after a kill between the two: for its state alone.

Spark's FileStreamSink and Delta's sink pass over such a batch: it is committed without its state and its watermark, or with state format 2
never. Written anew to files, its rows would be in others, and whoever has read the first would read them again. So it is run with its
planned offsets and no sink.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.domain.delta import DELTA
from pipelines.domain.ids import QueryName
from pipelines.domain.sinks import FILE_SINKS, LOG
from pipelines.driver import delta_back, intercept
from pipelines.driver.destinations import Destination
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records
from pipelines.driver.running import Running
from pipelines.driver.sinklog import Mend, checkpoint_facts, decide_mend, newest
from pipelines.driver.sinks import place_or_none
from pipelines.hadoop.paths import Place


def redo(
    records: Records, name: QueryName, writer: Any, request: Asked, wrote: Destination, checkpoint: str, begun: Callable[[Running], None]
) -> None:
    """Commits the batch, where there is such a one, and leaves the rows that the sink has of it. `checkpoint` is what Spark is told;
    `begun` is told of the query that does it, which a stop ends. Raises what the batch raises."""
    place = place_or_none(checkpoint)
    if place is None or not _is_in_sink(wrote, place):
        return
    message = (
        f"Batch {newest(place / 'offsets')} was in {wrote.path or wrote.table} but not committed: it is done again for its state alone."
    )
    records.event("sink.kept", message, name)
    again = intercept.frame(writer).writeStream.queryName(name).option("checkpointLocation", checkpoint).format("noop").trigger(once=True)
    running = Running(name, intercept.unwatched(again.outputMode(request.output_mode) if request.output_mode else again))
    begun(running)
    running.query.awaitTermination()


def _is_in_sink(wrote: Destination, checkpoint: Place) -> bool:
    """Whether the planned batch of the checkpoint is in the sink, and not committed."""
    facts, sink = checkpoint_facts(checkpoint), place_or_none(wrote.path or wrote.table)
    if sink is None or facts.planned <= facts.committed:
        return False
    if wrote.sink.lower() == DELTA and isinstance(sink, Path):
        query_id = json.loads((checkpoint / "metadata").read_text())["id"]
        return delta_back.newest_batch(sink, query_id) >= facts.planned
    return wrote.sink.lower() in FILE_SINKS and bool(wrote.path) and decide_mend(facts, newest(sink / LOG)) is Mend.REDO
