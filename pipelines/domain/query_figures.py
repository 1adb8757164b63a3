"""What the newest batch of each query says, as metrics have it: of the query, its stateful operators and its sources."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.domain.bounds import Long, Moment, Rate
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.operators import OperatorProgress
from pipelines.domain.sources import Backlog

MOST = 50
"""So many queries of a job are told, and of each so many operators and sources."""
MOST_NAME = 60
_KIND = re.compile(r"[A-Za-z0-9_.$-]*")


@dataclass(frozen=True)
class SourceNow:
    """A source in the newest batch; rates in rows a second."""

    name: str
    """Of what kind it is: `KafkaV2`, `FileStreamSource`."""
    rows: Long | None
    input_rate: Rate | None
    processed_rate: Rate | None
    backlog: tuple[Backlog, ...] = ()


@dataclass(frozen=True)
class QueryNow:
    """The newest batch of one query; rates in rows a second, None where nobody knows."""

    job: JobName
    query: str
    run: RunId
    batch: Long
    at_ms: Moment
    """When it was triggered."""
    batch_ms: Rate
    input_rate: Rate | None
    processed_rate: Rate | None
    output_rate: Rate | None
    """Rows written by how long the batch took, where the sink counts them."""
    lag_ms: Rate | None
    """How far the newest event is behind the clock now; idle or failed, as the batch left it. So is the watermark's."""
    watermark_lag_ms: Rate | None
    late_rows: Long
    """Dropped as too late, newest run."""
    state_rows: Long | None
    state_bytes: Long | None
    operators: tuple[OperatorProgress, ...] = ()
    """In Spark's order."""
    sources: tuple[SourceNow, ...] = ()


def kind_of(description: str) -> str:
    """What a source is, of Spark's description: without what it reads, which no label of a metric could hold, and without what changes
    from run to run (`Source@1f3a`)."""
    match = _KIND.match(description)
    return match[0][:MOST_NAME] if match else ""
