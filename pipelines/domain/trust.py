"""How far a savepoint can be trusted: the levels, what a verification found, what a proof showed, how later ones add to earlier ones."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pipelines.domain.bounds import Count, Moment, Took
from pipelines.domain.ids import QueryName, SavepointId


class Trust(enum.StrEnum):
    """How far a savepoint was checked: files present with their sizes; checksums equal; restored by Spark."""

    COMPLETE = "complete"
    INTACT = "intact"
    PROVED = "proved"

    @property
    def covers(self) -> tuple[Trust, ...]:
        """The levels that are reached with this one."""
        return tuple(Trust)[: tuple(Trust).index(self) + 1]


SEEN_AT = {
    "missing": Trust.COMPLETE,
    "size": Trust.COMPLETE,
    "checksum": Trust.INTACT,
    "unreadable": Trust.INTACT,
    "state": Trust.PROVED,
}
"""Kind of damage -> the level at which a verification sees it: one that asks for less cannot tell that it is gone."""


@dataclass(frozen=True)
class Damage:
    """One file that is not as it should be: `kind` is missing, size, checksum, unreadable or state (Spark could not restore it)."""

    path: str
    kind: str
    message: str


@dataclass(frozen=True)
class StateCount:
    """The rows that the sandbox's Spark read from one operator's state, beside what the job's progress said at that batch."""

    query: QueryName
    operator: Count
    name: str
    rows: Count
    """Rows read over all partitions, as Spark counts the operator's rows: of a join the buffered rows, of a list its key once,
    no rows of Spark's own bookkeeping."""
    expected: Count | None
    """The rows of one execution, as the job's own progress said at that batch; None where no progress of it is known, or Spark does
    not count."""
    executions: Count = 1
    """How often the batch computed this state: `numRowsTotal` is the sum over all executions."""

    @property
    def differs(self) -> bool:
        return self.expected is not None and self.rows != self.expected

    @property
    def shows_damage(self) -> bool:
        """Whether rows were lost or added since. Of a batch that was computed several times no count says that for certain."""
        return self.differs and self.executions == 1


@dataclass(frozen=True)
class ScratchBatch:
    """The batch that the sandbox ran from the restored state, into a scratch output that is thrown away."""

    query: QueryName
    batch: Count
    input_rows: Count
    output_rows: Count
    batch_ms: Took


@dataclass(frozen=True)
class Proof:
    """What the sandbox saw. The savepoint is proved if every count that has an expectation equals it, and every query ran a batch."""

    spark_version: str
    states: tuple[StateCount, ...]
    batches: tuple[ScratchBatch, ...]
    took_ms: Took
    note: str = ""
    """Why it is not proved though nothing is damaged (the sources had nothing new to run a batch with); empty for a proved one."""
    failed: bool = False
    """Whether the job's code failed on the restored state, or ended before its batch was done."""


@dataclass(frozen=True)
class Verification:
    """The outcome of a verify: the level reached, or what is wrong."""

    savepoint: SavepointId
    asked: Trust
    reached: Trust | None
    at_ms: Moment
    files: Count
    bytes: Count
    damages: tuple[Damage, ...] = field(default=())
    sealed_ms: Moment | None = None
    """When the checksums compared with were computed: equal to `at_ms` where this verification itself computed them first."""
    levels: Mapping[Trust, Moment] = field(default_factory=dict)
    """Each level with the time (epoch ms) it was last reached at, those of earlier verifications too; empty once damage is found."""
    proof: Proof | None = None
    """The newest proof, of this verification or an earlier one."""
    remarks: tuple[str, ...] = ()
    """What a fork of it cannot do although nothing is damaged: sources that cannot give their rows again."""


def added(before: Verification | None, verification: Verification) -> Verification:
    """Adds to `verification` what it cannot know: damage that only a higher level sees, and the levels that were reached earlier."""
    hidden = tuple(damage for damage in before.damages if SEEN_AT.get(damage.kind) not in verification.asked.covers) if before else ()
    proof = verification.proof or (before.proof if before else None)
    if verification.damages or hidden:
        return replace(verification, reached=None, damages=(*verification.damages, *hidden), levels={}, proof=proof)
    reached = dict.fromkeys(verification.reached.covers, verification.at_ms) if verification.reached else {}
    return replace(verification, levels={**(levels_of(before) if before else {}), **reached, **verification.levels}, proof=proof)


def kept(before: Verification | None, answer: Verification) -> Verification:
    """The verification to record after `answer` (of `added`): a lower level reached later does not hide a higher one reached before."""
    if before is None or before.reached is None or answer.reached is None or before.reached in answer.reached.covers:
        return answer
    return replace(before, levels=answer.levels, proof=answer.proof)


def levels_of(verification: Verification) -> Mapping[Trust, int]:
    """Each level with its time; of a verification that was recorded before levels were, those that it reached."""
    if verification.damages or verification.reached is None:
        return {}
    return verification.levels or dict.fromkeys(verification.reached.covers, verification.at_ms)
