"""The files of a rehearsal: one for each query whose batch it ran, beside the batch's rows."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.ids import folder_of

NO_DATA = "rehearsal.no_data"
"""Event of a query whose sources had nothing new for as long as the rehearsal waits."""
BATCH_WRITE = "rehearsal.batch_write"
"""Error code of a script that writes a table itself, not through a query."""


def batch_file(query: str) -> str:
    """Name of the file in the rehearsal's directory that says which batch of `query` was written."""
    return f"{folder_of(query)}.json"


@dataclass(frozen=True)
class RehearsedBatch:
    """The content of that file. The rows are in `<query's folder>/<batch>/`, as parquet."""

    batch: int
    output_rows: int
