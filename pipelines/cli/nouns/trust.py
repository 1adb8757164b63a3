"""Trust of a savepoint, as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Proof, Trust, Verification
from pipelines.words import formats, trust


def pairs(savepoint: Savepoint, now_ms: int) -> list[tuple[str, str]]:
    """The best level, then each level with when it was reached."""
    best = trust.best(savepoint)
    if savepoint.damaged_files:
        when = formats.when(savepoint.verified_ms, now_ms, None)
        best = f"{formats.plural(savepoint.damaged_files, 'damaged file')}, found {when}; nothing is restored from it"
    reached = trust.reached(savepoint)
    return [("trust", best), *((f"  {level.value}", formats.when(reached.get(level), now_ms, None)) for level in Trust)]


def verification_text(verification: Verification) -> str:
    """The outcome of a verification: the level, or the damage; and the newest proof's counts."""
    damages = [(trust.DAMAGES.get(damage.kind, damage.kind), f"{damage.path}: {damage.message}") for damage in verification.damages]
    told = output.details([("savepoint", verification.savepoint), *trust.answer(verification), *damages])
    return "\n\n".join([told, *([proof_text(verification.proof)] if verification.proof else [])])


def proof_text(proof: Proof) -> str:
    """The proof: rows by operator beside those that the job said, and the batch of each query."""
    states = [
        (*names, formats.count(rows), formats.count(expected), agrees) for *names, rows, expected, agrees in trust.states(proof.states)
    ]
    batches = [(query, *map(formats.count, counts), formats.duration(took)) for query, *counts, took in trust.batches(proof)]
    tables = [
        output.Table(_titles(trust.STATES, "Rows read", "Rows the job counted"), states),
        output.Table(_titles(trust.BATCHES, *trust.BATCHES[1:]), batches),
    ]
    head = trust.proof(proof) + (f": {proof.note}" if proof.note else "")
    return "\n\n".join([head, *(table.plain() for table in tables if table.rows)])


def _titles(titles: tuple[str, ...], *numbers: str) -> tuple[str, ...]:
    return tuple(title.upper() + (">" if title in numbers else "") for title in titles)
