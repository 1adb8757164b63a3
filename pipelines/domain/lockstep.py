"""Lock-step: a run whose batches have the very offsets of its leader's batches of the same number, so that each difference is the code's.

What a what-if (`until` a batch, at full speed), an A/B test that follows its parent, and a replay between two savepoints rest on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pipelines.domain.bounds import Batch
from pipelines.domain.ids import JobName

UNREPEATABLE: Mapping[str, str] = {
    "socket": "a socket gives no row twice",
    "memory": "a stream in the memory of another process cannot be read",
}
"""Spark's name of a source -> why the leader's offsets say nothing of its rows to another run."""
GONE = "lockstep.gone"
MOVED = "lockstep.moved"
SOURCE = "lockstep.source"
QUERY = "lockstep.query"
SPARK = "lockstep.spark"


PINNED = frozenset({"current_timestamp()", "current_date()", "localtimestamp()"})
"""What Spark takes from the clock of the batch (`MicroBatchExecution.runBatch`), which is the leader's; `now()` it does not."""


def varying(names: Iterable[str]) -> tuple[str, ...]:
    """Of what depends on the clock or on chance: what differs from run to run even where the batches are the same."""
    return tuple(name for name in dict.fromkeys(names) if name not in PINNED)


@dataclass(frozen=True)
class Lead:
    """Whom a run follows."""

    job: JobName
    checkpoints: str
    """The leader's checkpoints, a directory of this machine: `<query>/` has the offsets of each batch."""
    wanted: str = ""
    """The leader's `wanted.json`, which says whether it still goes on with those checkpoints; empty where nobody looks."""
    until: Mapping[str, Batch] = field(default_factory=dict)
    """Query -> the last batch that it runs; empty for a run that follows its leader on and on."""


@dataclass(frozen=True)
class LockStepPlan:
    """What following in lock-step will read, by query."""

    lead: Lead
    began: Mapping[str, int]
    """Query -> the savepoint's batch; -1 where it had not begun."""
    ready: Mapping[str, int]
    """Query -> the newest batch of the leader that the run has now: what it catches up with at full speed."""
    files: int
    """Files of file sources that those batches read."""
