"""How a job that begins with changed code is watched, so that it goes back by itself."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.moments import LONGEST_MS
from pipelines.domain.probations import MOST_BATCHES
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import option

BATCHES = "Watch changed code for so many batches of each query: where it fails in them, the job goes back by itself to what it ran before."
TIME = "Watch changed code for so long from its first query's start on, or for --probation-batches, whichever is over first."
LONGEST = "While it is watched it goes back, too, where one of its batches takes longer."
LIMIT = (
    "While it is watched it goes back, too, where a figure is beyond this threshold after its first batch: `event_time_lag_seconds > 5m`, "
    "`backlog_rows > 1e6`, `observed NAME.COLUMN > 5`; the figures are those of alerts. May be given again."
)


@dataclass(frozen=True, kw_only=True)
class OnProbation:
    """For how long changed code is watched, and what it must not miss."""

    probation_batches: int | None = option(BATCHES, None, least=1, most=MOST_BATCHES)
    probation_ms: int | None = option(
        TIME, None, flag="--probation-time", metavar="DURATION", reads=Reads.DURATION, least=1, most=LONGEST_MS,
    )  # fmt: skip
    longest_batch_ms: int | None = option(
        LONGEST, None, flag="--longest-batch", metavar="DURATION", reads=Reads.DURATION, least=1, most=LONGEST_MS,
    )  # fmt: skip
    probation_limits: tuple[str, ...] = option(LIMIT, (), flag="--probation-limit", metavar="CONDITION")
