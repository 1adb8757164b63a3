"""What a leader's checkpoint says of one query: the offsets of its committed batches, and the files behind a file source's offsets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import folder_of
from pipelines.domain.lockstep import GONE, MOVED, Lead
from pipelines.domain.run_specs import SPEC_FILE
from pipelines.driver.history import bring
from pipelines.driver.sinklog import batch_files, newest

LOOK_S = 1.0
"""How often a follower that waits looks whether its leader goes on elsewhere."""
HINT = (
    "Fork the leader's newest savepoint in lock-step: that begins where its offsets are still there. A follower keeps what its leader has "
    "while it runs; one that stands still for long needs a leader that keeps more batches (spark.sql.streaming.minBatchesToRetain)."
)


@dataclass(frozen=True)
class Planned:
    """One batch of the leader: its entry in the offset log as Spark wrote it, and the clock of the batch."""

    batch: int
    entry: str
    at_ms: int


class LeadQuery:
    """The batches of one query of the leader, whose log Spark shortens meanwhile: what is ahead is kept in the folder `kept` as soon as it
    is there, for as long as it has not been run."""

    def __init__(self, lead: Lead, query: str, kept: Path, now_s: Callable[[], float] = time.monotonic) -> None:
        self._lead = lead
        self._query = query
        self._kept = kept
        self._now_s = now_s
        self._looked_s = now_s()
        self._next: int | None = None
        """The batch to keep next; None before the first that is asked for."""
        self._lock = threading.Lock()
        self.checkpoint = lead_checkpoint(lead, query)

    @property
    def until(self) -> int | None:
        """The last batch to run; None where there is none."""
        return self._lead.until.get(self._query, -1) if self._lead.until else None

    def planned(self, batch: int) -> Planned | None:
        """The leader's batch of this number; None while it has not committed it. Raises Conflict (`lockstep.gone`, `lockstep.moved`)."""
        with self._lock:
            if self._next is None:
                self._next = batch
            committed = self._keep(self._next)
            entry = self._entry(batch)
            if entry is not None:
                self._forget(batch)
        if entry is None:
            if committed >= batch:
                raise self._gone(f"batch {batch}")
            self._look()
            return None
        return Planned(batch, entry, int(json.loads(entry.splitlines()[1])["batchTimestampMs"]))

    def files(self, source: str, entry: int) -> str:
        """What the log of the file source in `sources/<source>` notes in `entry`, in Spark's format; Conflict (`lockstep.gone`)."""
        log = self.checkpoint / "sources" / source
        held = {path.name: path for paths in batch_files(log).values() for path in paths}
        if (single := held.get(str(entry))) is not None:
            return single.read_text()
        compacts = [path for name, path in held.items() if name.endswith(".compact") and int(name.partition(".")[0]) >= entry]
        if not compacts:
            raise self._gone(f"entry {entry} of its file source {source}")
        version, *lines = min(compacts, key=lambda path: int(path.name.partition(".")[0])).read_text().splitlines()
        return "\n".join([version, *(line for line in lines if json.loads(line)["batchId"] == entry)])

    def keep_up(self) -> None:
        """Keeps what the leader has committed since; beside a batch that takes longer than its leader keeps its own."""
        with self._lock:
            if self._next is not None:
                self._keep(self._next)

    def _keep(self, first: int) -> int:
        """Keeps entries from `first` on, of those that are there; the leader's newest batch. Raises Conflict (`lockstep.gone`)."""
        committed = newest(self.checkpoint / "commits")
        if committed < first and not self.checkpoint.is_dir() and not Path(self._lead.checkpoints).is_dir():
            raise self._gone("the whole checkpoint")
        for batch in range(first, committed + 1):
            bring(self.checkpoint / "offsets" / str(batch), self._kept / str(batch))
        self._next = max(first, committed + 1)
        return committed

    def _entry(self, batch: int) -> str | None:
        try:
            return (self._kept / str(batch)).read_text()
        except FileNotFoundError:
            return None

    def _forget(self, batch: int) -> None:
        """What is before the batch was run: Spark plans one only when the one before is committed."""
        for path in self._kept.glob("[0-9]*"):
            if int(path.name) < batch:
                path.unlink()

    def _gone(self, what: str) -> Conflict:
        message = f"{what[0].upper()}{what[1:]} of {self._lead.job}, query {self._query}, is no longer in {self.checkpoint}."
        return Conflict(GONE, message, HINT)

    def _look(self) -> None:
        """Raises Conflict where the leader has begun another checkpoint: it went back, was upgraded or rescaled."""
        if not self._lead.wanted or self._now_s() - self._looked_s < LOOK_S:
            return
        self._looked_s = self._now_s()
        checkpoints = _current(Path(self._lead.wanted))
        if checkpoints and checkpoints != self._lead.checkpoints:
            message = f"{self._lead.job} goes on from a savepoint, with another checkpoint: it has no more batches on this line."
            raise Conflict(MOVED, message, HINT)


def lead_checkpoint(lead: Lead, query: str) -> Path:
    """The leader's checkpoint of a query."""
    return Path(lead.checkpoints) / folder_of(query)


def _current(file: Path) -> str:
    """The checkpoints of the run that is wanted; empty where that cannot be told now."""
    try:
        run = json.loads(file.read_text())["run"]
        spec: dict[str, Any] = json.loads((file.parent / "runs" / str(run) / SPEC_FILE).read_text())
    except (FileNotFoundError, ValueError, KeyError):
        return ""
    return str(spec.get("checkpoints", ""))
