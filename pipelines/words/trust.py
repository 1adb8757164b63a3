"""Trust in a savepoint, in words: its levels, its damage, the answer of a verification, the counts of a proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Proof, StateCount, Trust, Verification
from pipelines.words import formats
from pipelines.words.formats import Facts

DAMAGED = "damaged"
LEVELS: Mapping[str, str] = {
    Trust.COMPLETE: "Every file is there with its size",
    Trust.INTACT: "Every checksum is right",
    Trust.PROVED: "Spark restored it, counted its rows and ran a batch",
    DAMAGED: "The last verification found damaged files; nothing is restored from it",
}
"""What a savepoint of each level is, and a damaged one."""
DAMAGES: Mapping[str, str] = {
    "missing": "missing",
    "size": "of another size",
    "checksum": "changed",
    "unreadable": "unreadable",
    "state": "refused by Spark",
}
"""Kind of damage -> what is wrong with the file."""
STATES = ("Query", "Operator", "Rows read", "Rows the job counted", "Agrees")
"""Titles of a proof's counts."""
BATCHES = ("Query", "Scratch batch", "Rows in", "Rows out", "Took")
"""Titles of the batches that a proof ran."""


def best(savepoint: Savepoint) -> str:
    """The highest level that it reached, or `damaged`."""
    if savepoint.damaged_files:
        return DAMAGED
    return max((savepoint.trust, *savepoint.levels), key=list(Trust).index).value


def reached(savepoint: Savepoint) -> Mapping[Trust, int]:
    """Each level with the time when it was reached; a savepoint is complete from its creation on, a damaged one is nothing."""
    if savepoint.damaged_files:
        return {}
    return {Trust.COMPLETE: savepoint.created_ms, **savepoint.levels}


def damage(subject: str, files: int) -> str:
    """`sp-1a2b has 2 damaged files`."""
    return f"{subject} has {formats.plural(files, 'damaged file')}"


def shortfall(subject: str, reached: str | None, asked: str) -> str:
    """`sp-1a2b is intact, not proved`: of a verification that found no damage, and did not get as far as it should."""
    return f"{subject} is {reached or 'not even complete'}, not {asked}"


def falls_short(verification: Verification, asked: Trust) -> bool:
    """Whether it reached less than `asked`, without damage."""
    return not verification.damages and (verification.reached is None or asked not in verification.reached.covers)


def reason(verification: Verification) -> str:
    """Why it fell short."""
    note = verification.proof.note if verification.proof else ""
    return note or "Nothing is damaged, but the level was not reached."


def answer(verification: Verification) -> Facts:
    """What was asked for, what was reached, what was read."""
    return [
        ("asked for", verification.asked.value),
        ("reached", verification.reached.value if verification.reached else "no level"),
        ("read", formats.files(verification.files, verification.bytes)),
        *(("remark", remark) for remark in verification.remarks),
    ]


def proof(proof: Proof) -> str:
    """`Spark 4.0.1 restored it in 12.3 s`."""
    return f"Spark {proof.spark_version} restored it in {formats.duration(proof.took_ms)}"


def states(counts: Sequence[StateCount]) -> list[tuple[str, str, int, int | None, str]]:
    """A row for each operator: rows that Spark read, rows that the job said, whether they agree."""
    return [(count.query, f"{count.operator} · {count.name}", count.rows, count.expected, _agrees(count)) for count in counts]


def batches(proof: Proof) -> list[tuple[str, int, int, int, float]]:
    """A row for each batch that the sandbox ran; it took that many milliseconds."""
    return [(batch.query, batch.batch, batch.input_rows, batch.output_rows, batch.batch_ms) for batch in proof.batches]


def _agrees(count: StateCount) -> str:
    """A batch that was computed several times has counted its rows several times."""
    agrees = "not known" if count.expected is None else "no" if count.differs else "yes"
    return agrees if count.executions == 1 else f"{agrees}, by one of {count.executions} executions"
