"""Trust of a savepoint, as text."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Proof, Trust, Verification
from pipelines.words import formats


def best(savepoint: Savepoint) -> str:
    """The highest level it reached, or `damaged`."""
    if savepoint.damaged_files:
        return "damaged"
    reached = [level for level in Trust if level in savepoint.levels]
    return (reached[-1] if reached else savepoint.trust).value


def pairs(savepoint: Savepoint, now_ms: int) -> list[tuple[str, str]]:
    """The best level, then each level with when it was reached."""
    trust = best(savepoint)
    if savepoint.damaged_files:
        trust = f"{formats.plural(savepoint.damaged_files, 'damaged file')}, found {formats.when(savepoint.verified_ms, now_ms, None)}"
    levels = [(f"  {level.value}", formats.when(savepoint.levels.get(level), now_ms, None)) for level in Trust]
    return [("trust", trust), *levels]


def verification_text(verification: Verification) -> str:
    """The outcome of a verification: the level, or the damage; and the newest proof's counts."""
    pairs = [
        ("savepoint", verification.savepoint),
        ("asked", verification.asked.value),
        ("reached", verification.reached.value if verification.reached else "nothing"),
        ("files", formats.count(verification.files)),
        ("size", formats.size(verification.bytes)),
        *((damage.kind, f"{damage.path}: {damage.message}") for damage in verification.damages),
    ]
    return "\n\n".join([output.details(pairs), *([proof_text(verification.proof)] if verification.proof else [])])


def proof_text(proof: Proof) -> str:
    """The proof: rows by operator beside those expected, and the batch of each query."""
    head = f"proof by Spark {proof.spark_version} in {formats.duration(proof.took_ms)}" + (f": {proof.note}" if proof.note else "")
    states = [
        (row.query, formats.count(row.operator), row.name, formats.count(row.rows), formats.count(row.expected)) for row in proof.states
    ]
    batches = [
        (row.query, formats.count(row.batch), formats.count(row.input_rows), formats.count(row.output_rows), formats.duration(row.batch_ms))
        for row in proof.batches
    ]
    tables = [
        (output.Table(("QUERY", "OPERATOR>", "NAME", "ROWS READ>", "EXPECTED>"), states), states),
        (output.Table(("QUERY", "BATCH RUN>", "INPUT ROWS>", "OUTPUT ROWS>", "TOOK>"), batches), batches),
    ]
    return "\n\n".join([head, *(table.plain() for table, rows in tables if rows)])
