"""How much a job has written to a file sink, without a Spark: what tests wait for."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from pipelines.checkpoint import sink_log
from pipelines.storage.local import LocalStorage
from tests.waiting import until


def row_count(sink: Path) -> int:
    """Rows in the files that the sink's log lists; 0 before its first batch."""
    if not (sink / sink_log.FOLDER).is_dir():
        return 0
    log = sink_log.whole(LocalStorage(sink), sink_log.FOLDER)
    newest = max((batch.id for batch in log.batches), default=-1)
    return sum(pq.read_metadata(sink / Path(file.path).name).num_rows for file in sink_log.live_files(log, newest))


def await_row_count(sink: Path, count: int) -> None:
    """Until the sink has at least so many rows."""
    until(lambda: row_count(sink) >= count, what=f"{sink} has too few rows")
