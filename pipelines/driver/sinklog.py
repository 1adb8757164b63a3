"""What a file sink's log (`_spark_metadata`) and a checkpoint say together, and what must be done before the query starts.

Spark's FileStreamSink skips every batch whose number its log already holds. That is right for a batch redone after a crash
and loses data in all other cases, so both logs are compared before each start.
"""

from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass
from pathlib import Path

LOG_FOLDER = "_spark_metadata"
FORMAT_CONF = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_BATCH_FILE = re.compile(r"(\d+)(?:\.compact)?")


class Carry(enum.Enum):
    """What to do with the log that a savepoint brings."""

    NOTHING = "nothing"
    PUT = "put"
    REPLACE = "replace"


class Mend(enum.Enum):
    """What to do with entries past the last committed batch."""

    NOTHING = "nothing"
    CUT = "cut"
    REFUSE = "refuse"


@dataclass(frozen=True)
class CheckpointFacts:
    """Newest batch planned and committed, -1 where there is none."""

    planned: int
    committed: int
    state_format: int


def batch_files(folder: Path) -> dict[int, list[Path]]:
    """Batch -> its files in a log folder (the entry, and its compacted form); other names are not the log's."""
    found: dict[int, list[Path]] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if match := _BATCH_FILE.fullmatch(path.name):
            found.setdefault(int(match[1]), []).append(path)
    return found


def newest(folder: Path) -> int:
    """The newest batch in a log folder, -1 where there is none."""
    return max(batch_files(folder), default=-1)


def checksum(path: Path) -> Path:
    """Hadoop's companion of a file on a local file system."""
    return path.with_name(f".{path.name}.crc")


def checkpoint_facts(checkpoint: Path) -> CheckpointFacts:
    planned, committed = newest(checkpoint / "offsets"), newest(checkpoint / "commits")
    return CheckpointFacts(planned, committed, _state_format(checkpoint, planned, committed))


def decide_carry(brought: int, planned: int, in_sink: int | None) -> Carry:
    """Whether the log that ends with batch `brought` must go to a sink whose own log ends with `in_sink` (None: no log).

    Needed until the restored checkpoint plans its first batch of its own; afterwards the sink's log is this query's.
    So it may be asked again after any crash, and needs no marker.
    """
    if brought < 0:
        return Carry.NOTHING
    if in_sink is None:
        return Carry.PUT
    return Carry.REPLACE if planned <= brought else Carry.NOTHING


def decide_mend(facts: CheckpointFacts, in_sink: int) -> Mend:
    """What to do about a sink log that ends with batch `in_sink` (-1: empty or none).

    - Nothing past the last commit: all is well.
    - Batches that this checkpoint never planned: another query wrote them, and Spark would drop our batches of these numbers.
    - The planned batch is in the sink and not committed (a kill between the two commits). With state format 2 Spark skips
      the batch, collects no state ids and never starts again; with format 1 it skips rightly, its state files are there.
    """
    if in_sink <= facts.committed:
        return Mend.NOTHING
    if in_sink > facts.planned:
        return Mend.REFUSE
    return Mend.CUT if facts.state_format >= 2 else Mend.NOTHING


def _state_format(checkpoint: Path, planned: int, committed: int) -> int:
    if planned >= 0:
        conf = _second_line(checkpoint / "offsets" / str(planned)).get("conf")
        if isinstance(conf, dict) and FORMAT_CONF in conf:
            return int(conf[FORMAT_CONF])
    if committed >= 0 and _second_line(checkpoint / "commits" / str(committed)).get("stateUniqueIds"):
        return 2
    return 1


def _second_line(path: Path) -> dict[str, object]:
    """The JSON object after the version line of a log file."""
    lines = path.read_text().splitlines()
    parsed = json.loads(lines[1]) if len(lines) > 1 else {}
    return parsed if isinstance(parsed, dict) else {}
