"""What a doctor says of a checkpoint or a savepoint: what is damaged, what depends on it, what can still be restored."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.bounds import Long
from pipelines.domain.ids import QueryName
from pipelines.domain.trust import Damage


@dataclass(frozen=True)
class Finding:
    """One damaged or missing file, and the retained batches that cannot be restored without it (ascending)."""

    damage: Damage
    batches: tuple[Long, ...]
    part: str
    """What of the checkpoint it is, as people say it: `state of operator 0, partition 3`, `offset log`, `log of source 0`."""


@dataclass(frozen=True)
class Diagnosis:
    """One query's checkpoint, live or in a savepoint, looked at file by file."""

    subject: str
    """The job, the savepoint's id, or the address of the checkpoint."""
    query: QueryName
    checkpoint: str
    files: int
    bytes: int
    """What was read and checked."""
    findings: tuple[Finding, ...]
    newest_committed: int | None
    restorable: tuple[int, ...]
    """Retained batches that can be restored, ascending; the last one is the newest."""
    advice: str
    """The next step, in a sentence or two."""

    @property
    def sound(self) -> bool:
        return not self.findings
