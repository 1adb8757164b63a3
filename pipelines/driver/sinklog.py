"""What a file sink's log (`_spark_metadata`) and a checkpoint say together, and what must be done before the query starts.

Spark's FileStreamSink skips every batch whose number its log already holds: it neither runs it nor learns its watermark. So both
logs are compared before each start, and a batch that the sink has is done again without the sink.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from pipelines.hadoop.paths import Place

_BATCH_FILE = re.compile(r"(\d+)(?:\.compact)?")


class Carry(enum.Enum):
    """What to do with the sink log of a savepoint."""

    NOTHING = "nothing"
    PUT = "put"
    REPLACE = "replace"


class Mend(enum.Enum):
    """What to do about entries past the last committed batch."""

    NOTHING = "nothing"
    REDO = "redo"
    REFUSE = "refuse"


@dataclass(frozen=True)
class CheckpointFacts:
    """Newest batch planned and committed, -1 where there is none."""

    planned: int
    committed: int


def batch_files(folder: Place) -> dict[int, list[Place]]:
    """Batch -> its files in a log folder (the entry, and its compacted form); other names are not the log's."""
    files: dict[int, list[Place]] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if match := _BATCH_FILE.fullmatch(path.name):
            files.setdefault(int(match[1]), []).append(path)
    return files


def newest(folder: Place) -> int:
    """The newest batch in a log folder, -1 where there is none."""
    return max(batch_files(folder), default=-1)


def checksum(path: Place) -> Place:
    """Hadoop's companion of a file on a local file system."""
    return path.with_name(f".{path.name}.crc")


def checkpoint_facts(checkpoint: Place) -> CheckpointFacts:
    return CheckpointFacts(newest(checkpoint / "offsets"), newest(checkpoint / "commits"))


def decide_carry(brought: int, planned: int, in_sink: int | None) -> Carry:
    """Whether the log that ends with batch `brought` must go to a sink whose own log ends with `in_sink` (None: no log).

    A log without entries is that of a query that had committed nothing: it puts what has been written since aside.
    Needed until the restored checkpoint plans its first batch of its own; afterwards the sink's log is this query's.
    So it may be asked again after any crash, and needs no marker.
    """
    if brought < 0:
        return Carry.REPLACE if planned < 0 and in_sink is not None and in_sink >= 0 else Carry.NOTHING
    if in_sink is None:
        return Carry.PUT
    return Carry.REPLACE if planned <= brought else Carry.NOTHING


def decide_mend(facts: CheckpointFacts, in_sink: int) -> Mend:
    """What to do about a sink log that ends with batch `in_sink` (-1: empty or none).

    - Nothing past the last commit: all is well.
    - Batches that this checkpoint never planned: another query wrote them, and Spark would drop our batches of these numbers.
    - The planned batch is in the sink and not committed (a kill between the two commits): Spark would skip it. With state format 2
      it then has no state ids and never starts again; with format 1 it commits the batch without the watermark that the batch's
      rows move, and the next batches take rows that are too late. It is done again without the sink (`redone`).
    """
    if in_sink <= facts.committed:
        return Mend.NOTHING
    if in_sink > facts.planned:
        return Mend.REFUSE
    return Mend.REDO
